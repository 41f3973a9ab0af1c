/** A prefix of an S3 bucket as a destination of exports. */
import {
  CopyObjectCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
  S3ServiceException,
} from "@aws-sdk/client-s3";
import type { ExportFolder } from "../ports/exports.ts";
import type { DefinitionOf } from "./definitions.ts";

/**
 * Serves the paths below a prefix. An object is there whole or not at all; a rename is a copy and a
 * deletion, so that it may leave the first name behind. The credentials are those that the SDK
 * finds.
 */
export function createPrefix(definition: DefinitionOf<"s3">): (path: string) => ExportFolder {
  const { bucket, prefix, region, endpoint, force_path_style: forcePathStyle } = definition;
  const client = new S3Client({
    region,
    ...(endpoint !== undefined && { endpoint }),
    ...(forcePathStyle !== undefined && { forcePathStyle }),
    requestHandler: { connectionTimeout: 5_000, socketTimeout: 30_000 },
  });
  return (path) => {
    const folder = `${prefix}${path}/`;
    const objectOf = (name: string) => ({ Bucket: bucket, Key: folder + name });
    const remove = async (name: string): Promise<void> => {
      await client.send(new DeleteObjectCommand(objectOf(name)));
    };
    return {
      async read(name) {
        const found = await ifExists(client.send(new GetObjectCommand(objectOf(name))));
        return found?.Body?.transformToByteArray();
      },
      async write(name, content) {
        const ContentType = name.endsWith(".json") ? "application/json" : "application/gzip";
        await client.send(new PutObjectCommand({ ...objectOf(name), Body: content, ContentType }));
      },
      async rename(from, to) {
        const source = [bucket, ...(folder + from).split("/")].map(encodeURIComponent).join("/");
        const copy = new CopyObjectCommand({ ...objectOf(to), CopySource: source });
        if ((await ifExists(client.send(copy))) === undefined) return false;
        await remove(from);
        return true;
      },
      sizes: () => sizesIn(client, bucket, folder),
      remove,
    };
  };
}

async function sizesIn(
  client: S3Client,
  bucket: string,
  folder: string,
): Promise<Map<string, number>> {
  const sizes = new Map<string, number>();
  let token: string | undefined;
  do {
    const page = await client.send(
      new ListObjectsV2Command({ Bucket: bucket, Prefix: folder, ContinuationToken: token }),
    );
    for (const { Key = "", Size = 0 } of page.Contents ?? []) {
      sizes.set(Key.slice(folder.length), Size);
    }
    token = page.NextContinuationToken;
  } while (token !== undefined);
  return sizes;
}

async function ifExists<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    const isMissing =
      error instanceof S3ServiceException &&
      error.name !== "NoSuchBucket" &&
      error.$metadata.httpStatusCode === 404;
    if (isMissing) return undefined;
    throw error;
  }
}
