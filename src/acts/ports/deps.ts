/** The dependencies of the acts. */
import type * as platform from "../../platform/ports/deps.ts";
import type { Page, PageRequest, Window } from "../../platform/ports/pages.ts";
import type { RecordReader } from "../../platform/ports/records.ts";
import type { Instant } from "../../platform/words/month.ts";
import type { Act } from "../rules/act.ts";

/** A page of acts. The size that is asked for counts those that cannot be read, too. */
export interface ActPage extends Page<Act> {
  /** The keys of acts whose stored form cannot be read. */
  readonly unreadable: readonly string[];
}

/** Lists of acts, the newest first. Those that are not of a day lag behind by moments. */
export interface ActReader {
  /** The acts of one day in UTC, which an instant of it names. */
  actsOfDay(programId: string, day: Instant, window: Window, page: PageRequest): Promise<ActPage>;
  actsOfSubject(
    programId: string,
    subject: string,
    window: Window,
    page: PageRequest,
  ): Promise<ActPage>;
  /** The acts about a user; if there is a subject, only those of the subject. */
  actsAboutUser(
    user: { readonly programId: string; readonly userId: string },
    subject: string | undefined,
    window: Window,
    page: PageRequest,
  ): Promise<ActPage>;
}

export interface Reader extends RecordReader, ActReader {}

export interface Deps extends platform.Deps {
  readonly reader: Reader;
}
