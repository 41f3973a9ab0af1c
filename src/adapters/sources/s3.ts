/** A prefix of an S3 bucket as a source of rows. */
import {
  CopyObjectCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  S3Client,
  S3ServiceException,
} from "@aws-sdk/client-s3";
import type { Page } from "../../app/ports/pages.ts";
import type { DefinitionOf } from "./definitions.ts";
import {
  isPickedUp,
  isPlainPath,
  newFilesPageSize,
  noSuchFile,
  otherName,
  otherVersion,
  versionOfText,
} from "./files.ts";
import type { Source, SourceFile, VersionedFile } from "./source.ts";

/** An object by its key, and the ETag that its content had. */
interface FoundObject {
  readonly key: string;
  readonly etag: string;
}

/** One bucket and the operations on its objects. */
interface Bucket {
  readonly client: S3Client;
  readonly bucket: string;
  readonly prefix: string;
}

/**
 * Serves the objects below a prefix. New ones are the `*.csv` objects directly in it. The
 * credentials are those that the SDK finds.
 */
export function createS3Source(definition: DefinitionOf<"s3">): Source {
  const { bucket, prefix, region, endpoint, force_path_style: forcePathStyle } = definition;
  const client = new S3Client({
    region,
    ...(endpoint !== undefined && { endpoint }),
    ...(forcePathStyle !== undefined && { forcePathStyle }),
    requestHandler: { connectionTimeout: 5_000, socketTimeout: 30_000 },
  });
  const place: Bucket = { client, bucket, prefix };
  return {
    async open({ path, version }) {
      const found = await find(place, path);
      if (found === undefined) throw noSuchFile(path);
      if (version !== undefined && versionOfText(found.etag) !== version) throw otherVersion(path);
      return contentOf(place, found, path);
    },
    listNew: (cursor) => listNew(place, cursor),
    move: (file, to) => move(place, file, to),
    urlOf(path) {
      if (endpoint !== undefined) return undefined;
      // The folder, because a file that was picked up is in another one by the time of the report.
      const folder = prefix + path.slice(0, path.lastIndexOf("/") + 1);
      const query = new URLSearchParams({ region, prefix: folder });
      return `https://console.aws.amazon.com/s3/buckets/${encodeURIComponent(bucket)}?${query}`;
    },
  };
}

/** Finds the object of a path. Undefined when there is none. */
async function find(place: Bucket, path: string): Promise<FoundObject | undefined> {
  if (!isPlainPath(path)) return undefined;
  const key = place.prefix + path;
  const head = new HeadObjectCommand({ Bucket: place.bucket, Key: key });
  const found = await unless([404], place.client.send(head));
  return found && { key, etag: found.ETag ?? "" };
}

/** Reads the object that was found, and no later one of the same key. */
async function* contentOf(
  { client, bucket }: Bucket,
  { key, etag }: FoundObject,
  path: string,
): AsyncGenerator<Uint8Array> {
  const get = new GetObjectCommand({ Bucket: bucket, Key: key, IfMatch: etag });
  const found = await unless([404, 412], client.send(get));
  if (found === undefined) throw otherVersion(path);
  // In Node the body is a Readable; the SDK's type covers browsers, too.
  if (found.Body) yield* found.Body as AsyncIterable<Uint8Array>;
}

async function listNew(
  { client, bucket, prefix }: Bucket,
  cursor: string | undefined,
): Promise<Page<VersionedFile>> {
  // The delimiter leaves out what is in folders, as the files in done/ and failed/ are.
  const page = await client.send(
    new ListObjectsV2Command({
      Bucket: bucket,
      Prefix: prefix,
      Delimiter: "/",
      MaxKeys: newFilesPageSize,
      ContinuationToken: cursor,
    }),
  );
  const items: VersionedFile[] = [];
  for (const { Key = "", ETag = "" } of page.Contents ?? []) {
    const path = Key.slice(prefix.length);
    if (isPickedUp(path)) items.push({ path, version: versionOfText(ETag) });
  }
  const next = page.NextContinuationToken;
  return { items, ...(next !== undefined && { cursor: next }) };
}

/**
 * Copies the object and deletes it, each only as long as it has the ETag that was found. When two
 * processes move it at once, both copy to the same key, so that one copy is left.
 */
async function move(place: Bucket, file: SourceFile, to: "done" | "failed"): Promise<void> {
  const found = await find(place, file.path);
  if (found === undefined) return;
  if (file.version !== undefined && versionOfText(found.etag) !== file.version) return;
  const { client, bucket } = place;
  const copy = new CopyObjectCommand({
    Bucket: bucket,
    Key: await freeKey(place, found.etag, file.path, to),
    CopySource: [bucket, ...found.key.split("/")].map(encodeURIComponent).join("/"),
    CopySourceIfMatch: found.etag,
  });
  if ((await unless([404, 412], client.send(copy))) === undefined) return;
  const remove = new DeleteObjectCommand({ Bucket: bucket, Key: found.key, IfMatch: found.etag });
  await unless([404, 412], client.send(remove));
}

/** Returns the first key in the folder that is free, or has the same content already. */
async function freeKey(place: Bucket, etag: string, path: string, to: string): Promise<string> {
  const name = path.slice(path.lastIndexOf("/") + 1);
  for (let attempt = 1; ; attempt += 1) {
    const target = `${to}/${attempt === 1 ? name : otherName(name, attempt)}`;
    const taken = await find(place, target);
    if (taken === undefined || taken.etag === etag) return place.prefix + target;
  }
}

/** Undefined when S3 answers with one of these statuses: 404 not found, 412 another ETag. */
async function unless<T>(statuses: readonly number[], answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    const status = error instanceof S3ServiceException && error.$metadata.httpStatusCode;
    if (status && statuses.includes(status)) return undefined;
    throw error;
  }
}
