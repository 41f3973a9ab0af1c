/** Tests which certificates a server starts with. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { watchTls } from "../../../src/platform/auth/tls-files.ts";
import { createLogger } from "../../../src/platform/observe/log.ts";
import {
  type CertificateAndKey,
  createAuthority,
  loopbackNames,
} from "../../support/fixtures/certificates.ts";

let folder: string;
let authority: Awaited<ReturnType<typeof createAuthority>>;
let first: CertificateAndKey;
let second: CertificateAndKey;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "meguri-tls-"));
  authority = await createAuthority("Meguri test");
  first = await authority.issue(loopbackNames);
  second = await authority.issue(loopbackNames);
});

afterAll(() => rm(folder, { recursive: true }));

/** What a server reads at its start. */
async function read({ cert, key }: CertificateAndKey, authorities?: string) {
  const [certFile, keyFile, clientCaFile] = ["tls.crt", "tls.key", "ca.crt"].map((name) =>
    join(folder, name),
  ) as [string, string, string];
  await writeFile(certFile, cert);
  await writeFile(keyFile, key);
  if (authorities !== undefined) await writeFile(clientCaFile, authorities);
  const files = { certFile, keyFile, ...(authorities !== undefined && { clientCaFile }) };
  const { current, close } = watchTls(files, createLogger("test", "silent"));
  close();
  return current();
}

test("a certificate, its key, and TLS from 1.2 on", async () => {
  expect(await read(first)).toEqual({ ...first, ca: undefined, minVersion: "TLSv1.2" });
});

test("each authority of a file, whatever stands between them", async () => {
  const other = await createAuthority("other");
  const { ca } = await read(first, `# one\n${authority.cert}\n# two\n${other.cert}\n`);
  expect(ca).toEqual([authority.cert.trim(), other.cert.trim()]);
});

test("a key that is not the certificate's is refused", async () => {
  await expect(read({ cert: first.cert, key: second.key })).rejects.toThrow();
});

test("a file without authorities, or with a bad one, is refused", async () => {
  await expect(read(first, "")).rejects.toThrow("the file of the clients' authorities is empty");
  const bad = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----";
  await expect(read(first, `${authority.cert}\n${bad}`)).rejects.toThrow();
});
