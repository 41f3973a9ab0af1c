/** A prefix of an S3 bucket as an object store. */

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
import type { LocationOf } from "./definitions.ts";
import type { ListedObject, ObjectStore } from "./object-store.ts";
import { isPlainPath, otherVersion, versionOfText } from "./paths.ts";

/** The objects of one bucket by their keys. */
interface Bucket {
  readonly client: S3Client;
  readonly bucket: string;
}

/**
 * Serves the objects below a prefix. The version of a content is that of its ETag. An object is
 * there whole or not at all; a move is a copy and a deletion, so that it may leave the first path
 * behind. The credentials are those that the SDK finds.
 */
export function createS3Store(definition: LocationOf<"s3">): ObjectStore {
  const { bucket, prefix, region, endpoint, force_path_style: forcePathStyle } = definition;
  const client = new S3Client({
    region,
    ...(endpoint !== undefined && { endpoint }),
    ...(forcePathStyle !== undefined && { forcePathStyle }),
    requestHandler: { connectionTimeout: 5_000, socketTimeout: 30_000 },
  });
  const location: Bucket = { client, bucket };
  const etagOf = async (path: string) =>
    isPlainPath(path) ? headOf(location, prefix + path) : undefined;
  return {
    async open(path, version) {
      const etag = await etagOf(path);
      if (etag === undefined) return undefined;
      if (version !== undefined && versionOfText(etag) !== version) throw otherVersion(path);
      return contentOf(location, prefix + path, etag, path);
    },
    async read(path) {
      const get = new GetObjectCommand({ Bucket: bucket, Key: prefix + path });
      return (await ifExists(client.send(get)))?.Body?.transformToByteArray();
    },
    async list(folder, isWanted, { size, cursor }) {
      const within = folder === "" ? prefix : `${prefix}${folder}/`;
      // The delimiter leaves out what is in folders below.
      const command = new ListObjectsV2Command({
        Bucket: bucket,
        Prefix: within,
        Delimiter: "/",
        MaxKeys: size,
        ContinuationToken: cursor,
      });
      const { Contents = [], NextContinuationToken: next } = await client.send(command);
      const items = Contents.map(
        ({ Key = "", Size = 0, ETag = "" }): ListedObject => ({
          name: Key.slice(within.length),
          size: Size,
          version: async () => versionOfText(ETag),
        }),
      );
      const wanted = items.filter(({ name }) => isWanted(name));
      return { items: wanted, cursor: next };
    },
    async put(path, { bytes, type }) {
      // S3 has to know the length.
      const Body = bytes instanceof Uint8Array ? bytes : await buffer(bytes);
      const object = { Bucket: bucket, Key: prefix + path };
      await client.send(new PutObjectCommand({ ...object, Body, ContentType: type }));
    },
    rename: (from, to) => move(location, prefix + from, prefix + to),
    async moveToFree({ path, version }, folder, names) {
      const etag = await etagOf(path);
      if (etag === undefined) return undefined;
      if (version !== undefined && versionOfText(etag) !== version) return undefined;
      for (const name of names) {
        const target = `${folder}/${name}`;
        const taken = await etagOf(target);
        // A target with the same content is that of an earlier move, or of one at this moment.
        if (taken !== undefined && taken !== etag) continue;
        return (await move(location, prefix + path, prefix + target, etag)) ? target : undefined;
      }
      return undefined;
    },
    async remove(path) {
      await client.send(new DeleteObjectCommand({ Bucket: bucket, Key: prefix + path }));
    },
    urlOf(path) {
      // Another S3 than AWS's has no address that is known.
      if (endpoint !== undefined) return undefined;
      const kind = path === "" || path.endsWith("/") ? "buckets" : "object";
      const query = new URLSearchParams({ region, prefix: prefix + path });
      return `https://console.aws.amazon.com/s3/${kind}/${encodeURIComponent(bucket)}?${query}`;
    },
  };
}

/** The ETag of the content of a key; undefined when there is none. */
async function headOf({ client, bucket }: Bucket, key: string): Promise<string | undefined> {
  const head = new HeadObjectCommand({ Bucket: bucket, Key: key });
  const found = await ifExists(client.send(head));
  return found && (found.ETag ?? "");
}

/** Reads the content that was found, and no later one of the same key. */
async function* contentOf(
  { client, bucket }: Bucket,
  key: string,
  etag: string,
  path: string,
): AsyncGenerator<Uint8Array> {
  const get = new GetObjectCommand({ Bucket: bucket, Key: key, IfMatch: etag });
  const found = await ifExists(client.send(get));
  if (found === undefined) throw otherVersion(path);
  // In Node the body is a Readable; the SDK's type covers browsers, too.
  if (found.Body) yield* found.Body as AsyncIterable<Uint8Array>;
}

/**
 * Copies an object and deletes it, with an ETag each only as long as it has that. When two
 * processes move it at once, both copy to the same key, so that one copy is left. Returns false
 * when there is no such object.
 */
async function move(
  { client, bucket }: Bucket,
  from: string,
  to: string,
  etag?: string,
): Promise<boolean> {
  const copy = new CopyObjectCommand({
    Bucket: bucket,
    Key: to,
    CopySource: [bucket, ...from.split("/")].map(encodeURIComponent).join("/"),
    CopySourceIfMatch: etag,
  });
  if ((await ifExists(client.send(copy))) === undefined) return false;
  await ifExists(
    client.send(new DeleteObjectCommand({ Bucket: bucket, Key: from, IfMatch: etag })),
  );
  return true;
}

/** Undefined when S3 has no such object, or has it with another ETag (412). */
async function ifExists<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    const isMissing =
      error instanceof S3ServiceException &&
      error.name !== "NoSuchBucket" &&
      [404, 412].includes(error.$metadata.httpStatusCode ?? 0);
    if (isMissing) return undefined;
    throw error;
  }
}
