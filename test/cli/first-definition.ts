/** A definition that a worker of the command line loads before its first command. */
export default { name: "first", kind: "reference" };
