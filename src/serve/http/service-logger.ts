/** The log of a service. A pino logger has these methods. */
export interface ServiceLogger {
  info(facts: object, message: string): void;
  error(facts: object, message: string): void;
}
