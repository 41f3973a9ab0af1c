/** The log of a process: JSON lines on stdout. */
import { type Logger, pino } from "pino";

export type { Logger };

/** Writes one JSON object a line, with times in RFC 3339. */
export const createLogger = (name: string, level: string): Logger =>
  pino({ name, level, timestamp: pino.stdTimeFunctions.isoTime });
