import { type Logger, pino } from "pino";

export type { Logger };

/** One JSON object a line; times in RFC 3339. */
export const createLogger = (name: string, level: string): Logger =>
  pino({ name, level, timestamp: pino.stdTimeFunctions.isoTime });
