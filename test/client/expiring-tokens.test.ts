/** Tests that a watch goes on with a new token when a server ends its stream with the old one. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Code, ConnectError } from "@connectrpc/connect";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createMeguri, type Meguri } from "../../packages/client/src/index.ts";
import { eventually } from "../support/fixtures/waiting.ts";
import {
  audience,
  claimsOf,
  createSigningKey,
  issuerName,
  type SigningKey,
  signToken,
} from "../support/servers/issuer.ts";
import { type MemoryServer, startMemoryServer } from "../support/servers/server.ts";

let folder: string;
let keyFile: string;
let server: MemoryServer;
const keys: SigningKey[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "meguri-rights-"));
  keyFile = join(folder, "keys.json");
  keys.push(await createSigningKey("first"), await createSigningKey("second"));
  await accept(keys);
  server = await startMemoryServer({
    MEGURI_AUTH: "jwt",
    MEGURI_JWT_KEY_FILE: keyFile,
    MEGURI_JWT_ISSUER: issuerName,
    MEGURI_JWT_AUDIENCE: audience,
  });
});
afterAll(async () => {
  await server.stop();
  await rm(folder, { recursive: true });
});

const accept = (accepted: readonly SigningKey[]) =>
  writeFile(keyFile, JSON.stringify({ keys: accepted.map(({ jwk }) => jwk) }));

const target = { type: "post", id: "1" };
const scope = "notifications.read targets.write reactions.write";

test("a stream ends when the key of its token is removed, and its watch goes on", async () => {
  const [first, second] = keys as [SigningKey, SigningKey];
  const url = `http://127.0.0.1:${server.port}`;
  const signed = (key: SigningKey) => signToken(key, claimsOf({ scope }));
  const used: string[] = [];
  const watcher = createMeguri({
    url,
    async token() {
      const key = used.length === 0 ? first : second;
      used.push(key.kid);
      return signed(key);
    },
  });
  const writer = createMeguri({ url, token: await signed(second) });
  const fixed = createMeguri({ url, token: await signed(first) });
  await writer.reactions.registerTarget({ targetName: target, ownerId: "owner" });

  const watchBy = (client: Meguri) =>
    client.watchUnreadCounts([{ ownerId: "owner" }])[Symbol.asyncIterator]();
  const [watch, withFixed] = [watchBy(watcher), watchBy(fixed)];
  const next = async () => (await watch.next()).value?.unreadCount?.actorCount;
  expect(await next()).toBe(0n);
  await withFixed.next();

  await accept([second]);
  await expect(withFixed.next()).rejects.toSatisfy((error) => {
    const { code, rawMessage } = ConnectError.from(error);
    return code === Code.Unauthenticated && rawMessage.includes("key is not one of the issuer's");
  });
  const pending = next();
  await eventually(async () => expect(used).toEqual(["first", "second"]));
  for (const userId of ["ann", "ben"]) {
    await writer.reactions.react({ targetName: target, userId, displayName: userId });
  }
  let count = await pending;
  while (count !== 2n) count = await next();
  for (const client of [watcher, writer, fixed]) client.close();
});
