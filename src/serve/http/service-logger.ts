/** The service's log; a pino logger fits. */
export interface ServiceLogger {
  info(facts: object, message: string): void;
  error(facts: object, message: string): void;
}
