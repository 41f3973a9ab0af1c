/** Tests TLS on both ports, and callers that are verified by their certificates. */
import { once } from "node:events";
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, type TLSSocket } from "node:tls";
import { type Client, Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import {
  createConnectTransport,
  createGrpcTransport,
  Http2SessionManager,
} from "@connectrpc/connect-node";
import type { JsonGeneralNames } from "@peculiar/x509";
import {
  afterAll,
  afterEach,
  beforeAll,
  describe,
  expect,
  type TestContext,
  test,
  vi,
} from "vitest";
import { NotificationService } from "../../../src/gen/meguri/notifications/v1/notification_service_pb.ts";
import { PointsService } from "../../../src/gen/meguri/points/v1/points_service_pb.ts";
import {
  type CertificateAndKey,
  createAuthority,
  loopbackNames,
} from "../../support/fixtures/certificates.ts";
import { eventually } from "../../support/fixtures/waiting.ts";
import { startMemoryServer } from "../../support/servers/server.ts";

const shop = "spiffe://example.org/shop";
const shopNames: JsonGeneralNames = [{ type: "url", value: shop }];

let authority: Awaited<ReturnType<typeof createAuthority>>;
let right: CertificateAndKey;
let site: Site;

beforeAll(async () => {
  authority = await createAuthority("Meguri test");
  right = await authority.issue(shopNames);
  site = await startSite();
});

afterEach(() => {
  vi.useRealTimers();
});

afterAll(() => site.stop());

type Site = Awaited<ReturnType<typeof startSite>>;

/** Starts a server with files of its own, and lets the shop read points. */
async function startSite() {
  const folder = await mkdtemp(join(tmpdir(), "meguri-mtls-"));
  const sessions: Http2SessionManager[] = [];

  /** Replaces a file at one moment, so that no half of it is read. */
  async function replace(name: string, content: string): Promise<void> {
    await writeFile(join(folder, `${name}.next`), content);
    await rename(join(folder, `${name}.next`), join(folder, name));
  }

  async function replaceServerCertificate(): Promise<void> {
    const { cert, key } = await authority.issue(loopbackNames);
    await replace("tls.crt", cert);
    await replace("tls.key", key);
  }

  const permit = (scopes: readonly string[]) =>
    replace("callers.json", JSON.stringify({ callers: [{ uri: shop, service: "shop", scopes }] }));

  await replaceServerCertificate();
  await replace("ca.crt", authority.cert);
  await permit(["points.read"]);
  const server = await startMemoryServer({
    MEGURI_AUTH: "mtls",
    MEGURI_CALLERS_FILE: join(folder, "callers.json"),
    MEGURI_TLS_CERT_FILE: join(folder, "tls.crt"),
    MEGURI_TLS_KEY_FILE: join(folder, "tls.key"),
    MEGURI_TLS_CLIENT_CA_FILE: join(folder, "ca.crt"),
  });

  /** A transport with a connection of its own. */
  function transportWith(certificate?: CertificateAndKey): Transport {
    const baseUrl = `https://localhost:${server.port}`;
    const session = new Http2SessionManager(baseUrl, undefined, {
      ca: authority.cert,
      ...certificate,
    });
    sessions.push(session);
    return createGrpcTransport({ baseUrl, sessionManager: session });
  }

  const clientWith = (certificate?: CertificateAndKey): Client<typeof PointsService> =>
    createClient(PointsService, transportWith(certificate));

  /** Opens a stream of unread counts. */
  function watchOf(certificate: CertificateAndKey) {
    const client = createClient(NotificationService, transportWith(certificate));
    return client.watchUnreadCounts({ watches: [{ ownerId: "aoi" }] })[Symbol.asyncIterator]();
  }

  async function stop(): Promise<void> {
    for (const session of sessions) session.abort();
    await server.stop();
    await rm(folder, { recursive: true });
  }

  return { server, replace, replaceServerCertificate, permit, clientWith, watchOf, stop };
}

/** Starts a server for one test. */
async function startOwnSite({ onTestFinished }: TestContext): Promise<Site> {
  const own = await startSite();
  onTestFinished(own.stop);
  return own;
}

const balance = (points: Client<typeof PointsService>) => points.getBalance({ userId: "aoi" });

/** Calls with a certificate, and returns the code and message of the refusal. */
async function refusal(certificate: CertificateAndKey): Promise<readonly [Code, string]> {
  try {
    await balance(site.clientWith(certificate));
  } catch (error) {
    const { code, rawMessage } = ConnectError.from(error);
    return [code, rawMessage];
  }
  throw new Error("the call succeeded");
}

describe("a call", () => {
  test("with the right certificate is served, and its caller is the service", async () => {
    await site.permit(["points.grant"]);
    const points = site.clientWith(right);
    const call = () => points.grantPoints({ userId: "aoi", points: 5n, eventId: "e1" });
    const { entry } = await eventually(call);
    expect(entry).toMatchObject({ caller: { service: "shop" } });
    await site.permit(["points.read"]);
    await eventually(() => balance(points));
  });

  test("over HTTP/1.1 is served as well", async () => {
    const transport = createConnectTransport({
      baseUrl: `https://localhost:${site.server.http1Port}`,
      httpVersion: "1.1",
      nodeOptions: { ca: authority.cert, ...right },
    });
    await expect(balance(createClient(PointsService, transport))).resolves.toBeDefined();
  });

  test("whose service lacks the scope is refused", async () => {
    await expect(
      site.clientWith(right).grantPoints({ userId: "aoi", points: 5n, eventId: "e2" }),
    ).rejects.toThrow("[permission_denied] the caller lacks the scope points.grant");
  });

  test("with the certificate of another authority does not get past the handshake", async () => {
    const other = await createAuthority("Meguri test");
    const certificate = await other.issue(shopNames);
    await expect(handshake(certificate)).rejects.toThrow("hung up");
    await expect(balance(site.clientWith(certificate))).rejects.toThrow();
  });

  test("with an expired certificate, or with none, does not get past it either", async () => {
    const expired = await authority.issue(shopNames, new Date(Date.now() - 60_000));
    await expect(handshake(expired)).rejects.toThrow("hung up");
    await expect(handshake(undefined)).rejects.toThrow("certificate required");
    await expect(handshake(right)).resolves.toBe("h2");
  });

  test.each<[string, JsonGeneralNames, string]>([
    ["no name", [], "the client's certificate has 0 URIs instead of one"],
    ["no URI", loopbackNames, "the client's certificate has 0 URIs instead of one"],
    [
      "two URIs",
      [...shopNames, { type: "url", value: "spiffe://example.org/cafe" }],
      "the client's certificate has 2 URIs instead of one",
    ],
    [
      "a host name that looks like a URI",
      [{ type: "dns", value: `x, URI:${shop}` }],
      "the client's certificate has 0 URIs instead of one",
    ],
  ])("with %s in its certificate is refused", async (_, names, text) => {
    const certificate = await authority.issue(names);
    expect(await refusal(certificate)).toEqual([Code.Unauthenticated, text]);
  });

  test.each(["spiffe://example.org/cafe", `${shop}/x`, `${shop},x`])(
    "of %s, which the file does not have, is refused",
    async (value) => {
      const certificate = await authority.issue([{ type: "url", value }]);
      const [code, text] = await refusal(certificate);
      expect(code).toBe(Code.PermissionDenied);
      expect(text).toContain("the callers' file does not have");
    },
  );

  test("with a URI among other names is served", async () => {
    const certificate = await authority.issue([...loopbackNames, ...shopNames]);
    await expect(balance(site.clientWith(certificate))).resolves.toBeDefined();
  });

  test("on a connection that has outlived its certificate is refused", async () => {
    const points = site.clientWith(right);
    await balance(points);
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 2 * 3_600_000 });
    await expect(balance(points)).rejects.toThrow("the client's certificate has expired");
  });
});

describe.concurrent("without a restart", () => {
  test("the callers' file changes what open connections may do; a bad one not", async (context) => {
    const own = await startOwnSite(context);
    const points = own.clientWith(right);
    await balance(points);
    await own.permit([]);
    await eventually(() =>
      expect(balance(points)).rejects.toThrow("the caller lacks the scope points.read"),
    );
    await own.permit(["points.read", "notifications.read"]);
    await eventually(() => balance(points));
    const problems = vi.spyOn(own.server.log, "error");
    await own.replace("callers.json", "{");
    await eventually(async () => expect(problems).toHaveBeenCalled());
    await balance(points);
    const stream = own.watchOf(right);
    expect((await stream.next()).done).toBe(false);
    await own.replace("callers.json", '{"callers": []}');
    await expect(stream.next()).rejects.toThrow(`the callers' file does not have ${shop}`);
    await own.permit(["points.read"]);
    await eventually(() => balance(points));
  });

  test("new connections get the new certificate, and open ones go on", async (context) => {
    const own = await startOwnSite(context);
    const points = own.clientWith(right);
    await balance(points);
    const before = await serverSerial(own);
    await own.replaceServerCertificate();
    await eventually(async () => expect(await serverSerial(own)).not.toBe(before));
    await expect(balance(points)).resolves.toBeDefined();
    await expect(balance(own.clientWith(right))).resolves.toBeDefined();
  });

  test("a key that is not the certificate's changes nothing", async (context) => {
    const own = await startOwnSite(context);
    const before = await serverSerial(own);
    const problems = vi.spyOn(own.server.log, "error");
    await own.replace("tls.key", right.key);
    await eventually(async () => expect(problems).toHaveBeenCalled());
    expect(await serverSerial(own)).toBe(before);
    await own.replaceServerCertificate();
    await eventually(async () => expect(await serverSerial(own)).not.toBe(before));
  });

  test("an authority that is gone verifies no new connections", async (context) => {
    const own = await startOwnSite(context);
    const next = await createAuthority("The next one");
    await own.replace("ca.crt", next.cert);
    await eventually(() => expect(handshake(right, {}, own)).rejects.toThrow("hung up"));
    await own.replace("ca.crt", authority.cert + next.cert);
    await eventually(() => handshake(right, {}, own));
    await expect(handshake(await next.issue(shopNames), {}, own)).resolves.toBe("h2");
  });
});

test("TLS 1.1 is refused", async () => {
  const old = { minVersion: "TLSv1.1", maxVersion: "TLSv1.1" } as const;
  await expect(handshake(right, old)).rejects.toThrow();
});

/** Connects, and resolves to the protocol if the server speaks it rather than hang up. */
async function handshake(
  certificate: CertificateAndKey | undefined,
  options = {},
  at = site,
): Promise<string> {
  const socket = open(certificate, options, at);
  socket.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0");
  try {
    // A client of TLS 1.3 is done before the server has verified its certificate.
    const closed = once(socket, "close").then(() => {
      throw new Error("the server has hung up");
    });
    await Promise.race([once(socket, "data"), closed]);
    return String(socket.alpnProtocol);
  } finally {
    socket.destroy();
  }
}

async function serverSerial(at: Site): Promise<string> {
  const socket = open(right, {}, at);
  try {
    await once(socket, "secureConnect");
    return socket.getPeerCertificate().serialNumber;
  } finally {
    socket.destroy();
  }
}

function open(
  certificate: CertificateAndKey | undefined,
  options: object,
  { server }: Site,
): TLSSocket {
  return connect({
    port: server.port,
    host: "127.0.0.1",
    ca: authority.cert,
    ALPNProtocols: ["h2"],
    ...certificate,
    ...options,
  });
}
