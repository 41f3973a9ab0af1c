/** Reads the parts of a workbook, which are the entries of a zip file. */
import { crc32, createInflateRaw } from "node:zlib";
import { type Entry, fromBufferPromise, type ZipFile } from "yauzl";
import { maxSheetBytes } from "../../rules/sheet.ts";
import { tooLargeError, workbookError } from "./workbook-error.ts";

/** A workbook has less: a few parts, and some for each sheet, picture and comment. */
const maxEntries = 10_000;

/** XML takes some times the bytes of its cells: 200,000 rows of 7 columns have about 100 MB. */
const maxInflatedBytes = 8 * maxSheetBytes;

const methods = { stored: 0, deflated: 8 };

/** The parts of a workbook by their names, which differ by more than upper and lower case. */
export interface Parts {
  has(name: string): boolean;
  /** Yields the bytes of a part. Throws when it is missing, or not what the directory says. */
  read(name: string): AsyncGenerator<Uint8Array>;
}

/**
 * Opens the parts of a workbook by the directory at the end of the file; what lies between the
 * entries is not looked at. All bytes that are read of all parts together have a limit, which is
 * checked against the sizes in the directory before a part is inflated, and no part yields more
 * than its size. Refusals: INVALID_REQUEST with WORKBOOK_UNREADABLE or TOO_LARGE.
 */
export async function openParts(file: Buffer): Promise<Parts> {
  const zip = await refuseDamaged(fromBufferPromise(file, { lazyEntries: true, autoClose: false }));
  const entries = await readDirectory(zip);
  let inflatedBytes = 0;

  return {
    has: (name) => entries.has(keyOf(name)),
    async *read(name) {
      const entry = entries.get(keyOf(name));
      if (!entry) throw workbookError(`the workbook has no part ${name}`);
      inflatedBytes += entry.uncompressedSize;
      if (inflatedBytes > maxInflatedBytes) {
        throw tooLargeError("the parts of the workbook exceed 256 MiB when they are inflated");
      }
      yield* checked(entry, inflate(entry, await contentOf(file, zip, entry)));
    },
  };
}

const keyOf = (name: string): string => name.toLowerCase();

async function readDirectory(zip: ZipFile): Promise<ReadonlyMap<string, Entry>> {
  if (zip.entryCount > maxEntries) {
    throw workbookError(`the workbook has more than ${maxEntries} parts`);
  }
  const entries = new Map<string, Entry>();
  const each = zip.eachEntry();
  for (;;) {
    const { value: entry, done } = await refuseDamaged(each.next());
    if (done) return entries;
    const key = keyOf(entry.fileName);
    // Readers of zip files differ in which of two entries they take.
    if (entries.has(key)) throw workbookError(`the workbook has two parts ${entry.fileName}`);
    entries.set(key, entry);
  }
}

/** The bytes of an entry as they are stored. */
async function contentOf(file: Buffer, zip: ZipFile, entry: Entry): Promise<Buffer> {
  if (entry.isEncrypted()) throw workbookError("the workbook has a password; save it without");
  const reading = zip.readLocalFileHeaderPromise(entry, { minimal: true });
  const { fileDataStart: start } = await refuseDamaged(reading);
  return file.subarray(start, start + entry.compressedSize);
}

async function* inflate(entry: Entry, content: Buffer): AsyncGenerator<Uint8Array> {
  if (entry.compressionMethod === methods.stored) {
    yield content;
    return;
  }
  if (entry.compressionMethod !== methods.deflated) {
    throw workbookError(`${entry.fileName} is compressed in a way that Excel does not use`);
  }
  const inflating = createInflateRaw();
  inflating.end(content);
  const chunks = inflating[Symbol.asyncIterator]();
  try {
    for (;;) {
      const { value, done } = await refuseDamaged(chunks.next());
      if (done) return;
      yield value;
    }
  } finally {
    inflating.destroy();
  }
}

/** Yields the same bytes. Throws when they are more or others than the directory says. */
async function* checked(
  { fileName, uncompressedSize, crc32: expected }: Entry,
  chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  let [size, sum] = [0, 0];
  for await (const chunk of chunks) {
    size += chunk.length;
    sum = crc32(chunk, sum);
    if (size > uncompressedSize) break;
    yield chunk;
  }
  if (size !== uncompressedSize || sum !== expected) throw damaged(fileName);
}

const damaged = (what: string) =>
  workbookError(`the workbook is damaged (${what}); open it in Excel and save it again`);

/** Returns the result. Refuses the file as damaged instead of throwing an error of the library. */
async function refuseDamaged<T>(reading: Promise<T>): Promise<T> {
  try {
    return await reading;
  } catch (error) {
    throw damaged((error as Error).message);
  }
}
