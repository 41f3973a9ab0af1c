/** Reads files of sources for calls: few at a time, and none for longer than its call. */
import type { Logger } from "pino";
import { withIdleLimit } from "../../platform/edge/idle-limit.ts";
import { Quota } from "../../platform/edge/quota.ts";
import { describeError } from "../../platform/ports/described-errors.ts";
import { DomainError } from "../../platform/words/errors.ts";
import type { OpenSource } from "../ports/bulk-grants.ts";
import type { Deps } from "../ports/deps.ts";

/** A folder that hangs holds a thread for each read. Node has four of them for all its files. */
const limits = { perHolder: 2, total: 3 };

/**
 * Returns a function that opens a file for a call, and calls `use` with it. Opening and reading it
 * throw SOURCE_UNAVAILABLE when the source fails or sends nothing within `idleMs`, OVERLOADED when
 * too many files are being read, the refusals of `open`, and the reason of the signal.
 */
export function createSourceReads(
  { bulkSources }: Pick<Deps, "bulkSources">,
  log: Logger,
  idleMs: number,
) {
  const slots = new Quota<string>(limits);

  /**
   * Yields the opened file and then its bytes. Holds its slot until the source has answered, even
   * if the call is over.
   */
  async function* read({ name, source, programId }: SourceFile) {
    if (!slots.take(name)) {
      throw new DomainError("OVERLOADED", `the server reads too many files of ${name}, or in all`);
    }
    try {
      const opened = await bulkSources.open(source, programId);
      yield opened;
      yield* opened.csv;
    } catch (error) {
      if (error instanceof DomainError) throw error;
      log.warn({ err: describeError(error), source: name }, "a source failed");
      throw unavailable(name, "failed");
    } finally {
      slots.release(name);
    }
  }

  return async <T>(
    file: SourceFile,
    signal: AbortSignal,
    use: (opened: OpenSource) => Promise<T>,
  ): Promise<T> => {
    const tooSlow = () => unavailable(file.name, `sent nothing within ${idleMs} ms`);
    const parts = withIdleLimit(read(file), signal, idleMs, tooSlow);
    try {
      const { value: opened } = await parts.next();
      return await use({ ...(opened as OpenSource), csv: parts as AsyncIterable<Uint8Array> });
    } finally {
      await parts.return();
    }
  };
}

/** A file, the name of its source, and the program in which its rows are to be granted. */
interface SourceFile {
  readonly name: string;
  readonly source: string;
  readonly programId: string;
}

const unavailable = (name: string, what: string) =>
  new DomainError("SOURCE_UNAVAILABLE", `the source ${name} ${what}`);
