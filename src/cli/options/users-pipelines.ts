/** The folder of the user's pipelines that BARLAKE_PIPELINES names; undefined: the default. */
export function usersPipelines(): string | undefined {
  return process.env.BARLAKE_PIPELINES || undefined;
}
