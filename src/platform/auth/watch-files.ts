/** Reads files that may change while the process runs: keys, certificates, permissions. */
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import type { Logger } from "../observe/log.ts";
import type { Milliseconds } from "../words/units.ts";

/** How often the files are read. */
const pollMs = 1_000;

/** The present contents of files, parsed. */
export interface Watched<T> {
  current(): T;
  /** How long ago the files were read as they are: it grows while they are bad or missing. */
  ageMs(): Milliseconds;
  /** Calls `listener` with each new value. */
  onChange(listener: (value: T) => void): void;
  close(): void;
}

/**
 * Reads `files`, and reads them again every second. Contents that `parse` throws at, or a file that
 * is missing, fail the first reading; later they are logged, and the last good value stays. The
 * contents are compared rather than watched, because Kubernetes swaps symbolic links.
 */
export function watchFiles<T>(
  files: readonly string[],
  parse: (contents: readonly string[]) => T,
  log: Logger,
): Watched<T> {
  const first = files.map((file) => readFileSync(file, "utf8"));
  let value = parse(first);
  let seen = JSON.stringify(first);
  let isGood = true;
  let goodAt = performance.now();
  let reading = false;
  const listeners: ((value: T) => void)[] = [];

  async function read(): Promise<void> {
    const contents = await Promise.all(files.map((file) => readFile(file, "utf8"))).catch(asError);
    const state = contents instanceof Error ? contents.message : JSON.stringify(contents);
    if (state !== seen) {
      seen = state;
      isGood = adopt(contents);
    }
    if (isGood) goodAt = performance.now();
  }

  function adopt(contents: readonly string[] | Error): boolean {
    try {
      if (contents instanceof Error) throw contents;
      value = parse(contents);
      for (const listener of listeners) listener(value);
      log.info({ files }, "files have changed");
      return true;
    } catch (error) {
      const reason = asError(error).message;
      log.error({ files, reason }, "files are bad, so their last good contents stay");
      return false;
    }
  }

  const timer = setInterval(async () => {
    if (reading) return;
    reading = true;
    await read();
    reading = false;
  }, pollMs).unref();
  return {
    current: () => value,
    ageMs: () => performance.now() - goodAt,
    onChange: (listener) => listeners.push(listener),
    close: () => clearInterval(timer),
  };
}

const asError = (error: unknown): Error =>
  error instanceof Error ? error : new Error(String(error));
