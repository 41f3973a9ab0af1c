/** A prefix of an S3 bucket as a source of rows. */

import { buffer } from "node:stream/consumers";
import {
  CopyObjectCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
  S3ServiceException,
} from "@aws-sdk/client-s3";
import type { Page } from "../../platform/ports/pages.ts";
import type { SheetPlace } from "../rules/bulk-grant.ts";
import type { DefinitionOf } from "./definitions.ts";
import {
  errorsName,
  type Folder,
  isPickedUp,
  isPlainPath,
  namesIn,
  newFilesPageSize,
  noSuchFile,
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
  /** Where people find a key in a browser; undefined for another S3 than AWS's. */
  readonly urlOf: (kind: "buckets" | "object", key: string) => string | undefined;
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
  const urlOf = (kind: string, key: string) =>
    endpoint === undefined
      ? `https://console.aws.amazon.com/s3/${kind}/${encodeURIComponent(bucket)}?` +
        new URLSearchParams({ region, prefix: key })
      : undefined;
  const place: Bucket = { client, bucket, prefix, urlOf };
  return {
    async open({ path, version }) {
      const found = await find(place, path);
      if (found === undefined) throw noSuchFile(path);
      if (version !== undefined && versionOfText(found.etag) !== version) throw otherVersion(path);
      // The folder, because a file that is picked up is in another one by the time of the report.
      const url = urlOf("buckets", prefix + path.slice(0, path.lastIndexOf("/") + 1));
      return { csv: contentOf(place, found, path), ...(url !== undefined && { url }) };
    },
    listNew: (cursor) => listNew(place, cursor),
    move: (file, to) => move(place, file, to),
    async writeErrors({ path }, { csv }) {
      const name = `failed/${errorsName(path)}`;
      // S3 has to know the length. A sheet of errors is about as large as the sheet.
      const put = { Bucket: bucket, Key: prefix + name, Body: await buffer(csv) };
      await client.send(new PutObjectCommand({ ...put, ContentType: "text/csv; charset=utf-8" }));
      return placeOf(place, name);
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
async function move(place: Bucket, file: SourceFile, to: Folder): Promise<SheetPlace | undefined> {
  const found = await find(place, file.path);
  if (found === undefined) return undefined;
  if (file.version !== undefined && versionOfText(found.etag) !== file.version) return undefined;
  const { client, bucket, prefix } = place;
  const target = await freePath(place, found.etag, file.path, to);
  const copy = new CopyObjectCommand({
    Bucket: bucket,
    Key: prefix + target,
    CopySource: [bucket, ...found.key.split("/")].map(encodeURIComponent).join("/"),
    CopySourceIfMatch: found.etag,
  });
  if ((await unless([404, 412], client.send(copy))) === undefined) return undefined;
  const remove = new DeleteObjectCommand({ Bucket: bucket, Key: found.key, IfMatch: found.etag });
  await unless([404, 412], client.send(remove));
  return placeOf(place, target);
}

function placeOf({ prefix, urlOf }: Bucket, name: string): SheetPlace {
  const url = urlOf("object", prefix + name);
  return { name, ...(url !== undefined && { url }) };
}

/** Returns the first path in the folder that is free, or has the same content already. */
async function freePath(place: Bucket, etag: string, path: string, to: Folder): Promise<string> {
  const names = namesIn(to, path.slice(path.lastIndexOf("/") + 1));
  for (;;) {
    const target = `${to}/${names.next().value}`;
    const taken = await find(place, target);
    if (taken === undefined || taken.etag === etag) return target;
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
