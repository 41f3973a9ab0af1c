/** Reads the files of exported ledgers, chunk by chunk. */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { PassThrough, pipeline, Transform } from "node:stream";
import { createGunzip } from "node:zlib";
import { fromJsonString } from "@bufbuild/protobuf";
import { LedgerExportManifestSchema } from "@meguri/client/points";
import { UsageError } from "./errors.ts";
import type { Io } from "./io.ts";

/** The fields of an exported line that are searched. Older exports have fewer of them. */
export interface ExportedLine {
  readonly userId?: string;
  readonly entry: {
    readonly type: string;
    readonly createTime: string;
    readonly event?: { readonly eventId?: string };
    readonly reason?: string;
    readonly cause?: string;
    readonly caller?: { readonly service?: string; readonly subject?: string };
  };
}

/** A file of lines; `-` is standard input. */
interface ExportedFile {
  readonly path: string;
  /** The digest that the manifest has; undefined for a file without a manifest. */
  readonly sha256?: string;
}

/** Files of lines, and how many entries their export could not read. */
interface ExportedFiles {
  readonly files: readonly ExportedFile[];
  readonly unreadable: bigint;
}

/** Returns the parts of the folder of an export, or the file itself. Throws UsageError. */
export async function filesOf(path: string): Promise<ExportedFiles> {
  const single = { files: [{ path }], unreadable: 0n };
  if (path === "-") return single;
  const found = await stat(path).catch((error: Error) => fail(path, error.message));
  if (!found.isDirectory()) return single;
  const reading = readFile(join(path, "manifest.json"), "utf8");
  const text = await reading.catch(({ code, message }: NodeJS.ErrnoException) => {
    const isMissing = code === "ENOENT";
    const incomplete = "there is no manifest.json, so the export is not complete";
    return fail(path, isMissing ? incomplete : `manifest.json: ${message}`);
  });
  const options = { ignoreUnknownFields: true };
  const { parts, unreadableEntryCount } = orFail(path, () =>
    fromJsonString(LedgerExportManifestSchema, text, options),
  );
  const files = parts.map(({ name, sha256 }) => {
    if (basename(name) !== name) fail(path, "the manifest lists a file of another folder");
    return { path: join(path, name), sha256 };
  });
  return { files, unreadable: unreadableEntryCount };
}

/** No line of an export is longer, so a longer one is of another file. */
const maxLine = 2 ** 20;

/**
 * Yields the lines of a file that fit, some at a time. Throws UsageError at the first line that is
 * no entry of an export, and at the end of a file that is cut off or is not that of the manifest.
 */
export async function* entriesIn(
  file: ExportedFile,
  { stdin, signal }: Pick<Io, "stdin" | "signal">,
  fits: (line: ExportedLine) => boolean,
): AsyncGenerator<string[], void> {
  const { path } = file;
  const source = path === "-" ? stdin : createReadStream(path, { highWaterMark: 2 ** 18 });
  const unpacked = path.endsWith(".gz") ? createGunzip() : new PassThrough();
  const chunks: AsyncIterable<Buffer> = pipeline(source, hashed(file), unpacked, () => {});
  const decoder = new TextDecoder("utf8", { fatal: true, ignoreBOM: true });
  const notText = "no text in UTF-8; the name of a compressed file has to end with .gz";
  let number = 0;
  let rest = "";
  const fitting = (line: string): boolean => {
    number += 1;
    const where = `line ${number} is no entry of an export`;
    return fits(orFail(path, () => asLine(JSON.parse(line)), where));
  };
  try {
    for await (const chunk of chunks) {
      signal.throwIfAborted();
      const text = orFail(path, () => decoder.decode(chunk, { stream: true }), notText);
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      if (rest.length > maxLine) fail(path, `line ${number + lines.length + 1} is too long`);
      const found = lines.filter(fitting);
      if (found.length > 0) yield found;
    }
  } catch (error) {
    if (signal.aborted || error instanceof UsageError) throw error;
    fail(path, (error as Error).message);
  }
  if (rest !== "") fail(path, "the last line is cut off");
  orFail(path, () => decoder.decode(), notText);
}

function asLine(value: unknown): ExportedLine {
  const { entry } = value as Partial<ExportedLine>;
  if (typeof entry?.type === "string" && typeof entry.createTime === "string") {
    return value as ExportedLine;
  }
  throw new Error("no entry");
}

/** Passes bytes on, and compares their digest at the end. */
function hashed({ path, sha256 }: ExportedFile): Transform {
  const hash = createHash("sha256");
  return new Transform({
    transform(chunk: Buffer, _, done) {
      hash.update(chunk);
      done(null, chunk);
    },
    flush(done) {
      const isListed = sha256 === undefined || hash.digest("hex") === sha256;
      done(isListed ? null : new UsageError(`${path}: not the file that the manifest lists`));
    },
  });
}

function orFail<T>(path: string, read: () => T, message?: string): T {
  try {
    return read();
  } catch (error) {
    return fail(path, message ?? (error as Error).message);
  }
}

function fail(path: string, message: string): never {
  throw new UsageError(`${path}: ${message}`);
}
