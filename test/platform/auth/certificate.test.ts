/** Tests what the certificate of a connection says about its caller. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { createCertificateAuthenticator } from "../../../src/platform/auth/certificate.ts";
import { createLogger } from "../../../src/platform/observe/log.ts";
import type { Authenticator } from "../../../src/platform/ports/identity.ts";

const uri = "spiffe://example.org/shop";
const end = Date.parse("2026-11-01T00:00:00Z");
let folder: string;
let authenticator: Authenticator;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "meguri-certificate-"));
  const callersFile = join(folder, "callers.json");
  await writeFile(callersFile, JSON.stringify({ callers: [{ uri, service: "shop", scopes: [] }] }));
  const log = createLogger("test", "silent");
  authenticator = createCertificateAuthenticator({ callersFile, requiredLimits: [] }, log);
});

afterEach(() => {
  vi.useRealTimers();
});

afterAll(async () => {
  authenticator.close();
  await rm(folder, { recursive: true });
});

/** A connection whose handshake has verified a certificate with these names. */
function connectionOf(subjectAltName: string | undefined, more: object = {}) {
  const certificate = { subjectAltName, validToDate: new Date(end) };
  return { authorized: true, getPeerX509Certificate: vi.fn(() => certificate), ...more };
}

/** Presents a connection, a moment before the end of its certificate unless told otherwise. */
function present(connection: object | undefined, now = end - 1) {
  vi.useFakeTimers({ toFake: ["Date"], now });
  return authenticator.authenticate({
    header: () => null,
    socket: connection as Socket | undefined,
  });
}

const refused = (message: string, reason = "UNAUTHENTICATED") =>
  expect.objectContaining({ reason, message });

test("the URI of the certificate names the caller, up to the certificate's end", () => {
  const connection = connectionOf(`DNS:shop.example.org, URI:${uri}, IP Address:127.0.0.1`);
  const identity = { caller: { service: "shop", subject: uri }, scopes: new Set() };
  expect(present(connection)).toEqual(identity);
  expect(() => present(connection, end)).toThrow(refused("the client's certificate has expired"));
});

test("the certificate of a connection is read once", () => {
  const connection = connectionOf(`URI:${uri}`);
  expect(present(connection)).toEqual(present(connection));
  expect(connection.getPeerX509Certificate).toHaveBeenCalledTimes(1);
});

test.each<[string, object | undefined]>([
  ["no connection", undefined],
  ["a connection without TLS", {}],
  ["no certificate", connectionOf("", { getPeerX509Certificate: () => undefined })],
  ["a certificate that is not verified", connectionOf(`URI:${uri}`, { authorized: false })],
])("%s is refused", (_, connection) => {
  expect(() => present(connection)).toThrow(refused("the connection has no client certificate"));
});

test.each([
  ["no names", undefined, 0],
  ["no URI", "DNS:shop.example.org", 0],
  ["two URIs", `URI:${uri}, URI:spiffe://example.org/cafe`, 2],
  ["a host name that looks like a URI", `DNS:"x, URI:${uri}"`, 0],
])("a certificate with %s is refused", (_, names, count) => {
  const text = `the client's certificate has ${count} URIs instead of one`;
  expect(() => present(connectionOf(names))).toThrow(refused(text));
});

test.each([`URI:${uri}, x`, `x, URI:${uri}`, `URI:${uri},URI:${uri}`, `URI:"${uri}`])(
  "names that cannot be read are refused: %s",
  (names) => {
    expect(() => present(connectionOf(names))).toThrow(
      refused("the names of the client's certificate cannot be read"),
    );
  },
);

test("a URI that the callers' file does not have is not permitted", () => {
  for (const other of [`${uri}/x`, uri.toUpperCase(), `"${uri}"`]) {
    expect(() => present(connectionOf(`URI:${other}`))).toThrow(
      refused(`the callers' file does not have ${other}`, "PERMISSION_DENIED"),
    );
  }
});
