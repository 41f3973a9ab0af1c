/** The dependencies of the acts. */
import type * as platform from "../../platform/ports/deps.ts";
import type { Page, PageRequest, Window } from "../../platform/ports/pages.ts";
import type { RecordReader } from "../../platform/ports/records.ts";
import type { Instant } from "../../platform/words/month.ts";
import type { Act } from "../rules/act.ts";

/** Lists of acts, the newest first. */
export interface ActReader {
  /** The acts of one day in UTC, which an instant of it names. */
  actsOfDay(programId: string, day: Instant, window: Window, page: PageRequest): Promise<Page<Act>>;
  /** The acts of a subject, which lag behind by moments. */
  actsOfSubject(
    programId: string,
    subject: string,
    window: Window,
    page: PageRequest,
  ): Promise<Page<Act>>;
}

export interface Reader extends RecordReader, ActReader {}

export interface Deps extends platform.Deps {
  readonly reader: Reader;
}
