/** Tests the configuration: its defaults, and one error that names all wrong variables. */
import { describe, expect, test } from "vitest";
import manifest from "../../../package.json" with { type: "json" };
import { defaults, type ProcessKind, readConfig } from "../../../src/platform/config/config.ts";
import { ConfigError } from "../../../src/platform/config/config-error.ts";

type Env = Readonly<Record<string, string | undefined>>;

const readServer = (env: Env) => readConfig(env, "server");

/** What is wrong with each variable. */
function problemsOf(env: Env, kind: ProcessKind = "server"): Record<string, string> {
  try {
    readConfig(env, kind);
    return {};
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return Object.fromEntries(error.problems);
  }
}

/** A file that is there, whose content is not read. */
const file = import.meta.filename;

describe("readConfig", () => {
  test("needs no variable", () => {
    expect(readServer({})).toMatchObject({
      host: "127.0.0.1",
      operatorsPort: 8083,
      auth: { kind: "none" },
      tls: undefined,
      callsPerSecond: undefined,
      corsOrigins: [],
      temporalTls: undefined,
      temporalApiKeyFile: undefined,
      announce: undefined,
      dynamoEndpoint: undefined,
      tablePrefix: "meguri-",
      historyDays: 90,
      maxStreams: 10_000,
      drainSeconds: 20,
      buildId: manifest.version,
      bulkSources: undefined,
      exportDestinations: undefined,
      bulkRowsPerSecond: 100,
      sweepChangesPerSecond: 500,
      approvalReminderHours: 24,
      approvalExpiryHours: 168,
      slackWebhookUrl: undefined,
      temporalUiUrl: "http://127.0.0.1:8233",
      testClock: false,
    });
  });

  test.each([
    ["MEGURI_PORT", "http"],
    ["MEGURI_PORT", "65536"],
    ["MEGURI_HTTP1_PORT", "-1"],
    ["MEGURI_METRICS_PORT", "1.5"],
    ["MEGURI_OPERATORS_PORT", "probes"],
    ["MEGURI_HOST", "0.0.0.0"],
    ["MEGURI_AUTH", "basic"],
    ["MEGURI_CALLS_PER_SECOND", "0"],
    ["MEGURI_CALLS_PER_SECOND", "1.5"],
    ["MEGURI_CORS_ORIGINS", "*"],
    ["MEGURI_CORS_ORIGINS", "https://a.example/"],
    ["MEGURI_CORS_ORIGINS", "https://a.example,"],
    ["MEGURI_DYNAMODB_ENDPOINT", "localhost"],
    ["MEGURI_TABLE_PREFIX", "a b"],
    ["MEGURI_BUILD_ID", "b".repeat(256)],
    ["MEGURI_HISTORY_DAYS", "0"],
    ["MEGURI_HISTORY_DAYS", "1.5"],
    ["MEGURI_HISTORY_DAYS", "3651"],
    ["MEGURI_MAX_STREAMS", "0"],
    ["MEGURI_MAX_STREAMS", "many"],
    ["MEGURI_DRAIN_SECONDS", "soon"],
    ["MEGURI_DRAIN_SECONDS", "601"],
    ["MEGURI_ANNOUNCE_URL", "cache.example:6379"],
    ["MEGURI_ANNOUNCE_URL", "https://cache.example"],
    ["MEGURI_ANNOUNCE_URL", "redis://"],
    ["MEGURI_ANNOUNCE_URL", "redis://cache.example:99999"],
    ["MEGURI_ANNOUNCE_URL", "redis://cache.example/1"],
    ["MEGURI_ANNOUNCE_URL", "redis://cache.example?family=6"],
    ["MEGURI_ANNOUNCE_URL", "redis://:100%@cache.example"],
    ["MEGURI_ANNOUNCE_TLS_CA_FILE", file],
    ["MEGURI_BULK_ROWS_PER_SECOND", "0"],
    ["MEGURI_BULK_ROWS_PER_SECOND", "1.5"],
    ["MEGURI_SWEEP_CHANGES_PER_SECOND", "99"],
    ["MEGURI_APPROVAL_REMINDER_HOURS", "0"],
    ["MEGURI_APPROVAL_EXPIRY_HOURS", "never"],
    ["MEGURI_SLACK_WEBHOOK_URL", "hooks.slack.com"],
    ["MEGURI_SLACK_WEBHOOK_URL", "file:///tmp/hook"],
    ["MEGURI_TEMPORAL_UI_URL", "localhost:8233"],
    ["MEGURI_LOG_LEVEL", "loud"],
    ["MEGURI_TEST_CLOCK", "yes"],
  ])("names %s when it is %j", (name, value) => {
    const readers = (["server", "worker"] as const).map((kind) =>
      problemsOf({ [name]: value }, kind),
    );
    expect({ ...readers[0], ...readers[1] }).toEqual({ [name]: expect.any(String) });
  });

  test.each([
    [{ MEGURI_TEMPORAL_ADDRESS: "localhost:7233" }, "http://127.0.0.1:8233"],
    [{ MEGURI_TEMPORAL_ADDRESS: "[::1]:7233" }, "http://127.0.0.1:8233"],
    [{ MEGURI_TEMPORAL_ADDRESS: "temporal:7233" }, undefined],
    [{ MEGURI_TEMPORAL_ADDRESS: "temporal" }, undefined],
    [{ MEGURI_TEMPORAL_ADDRESS: "temporal", MEGURI_TEMPORAL_UI_URL: "https://ui" }, "https://ui"],
  ])("with %o the Web UI is at %s", (env, url) => {
    expect(readServer(env).temporalUiUrl).toBe(url);
  });

  test("has the server of announcements, and does not show its password in an error", () => {
    const url = "redis://user:s3cr%25t@cache.example:6380";
    expect(readServer({ MEGURI_ANNOUNCE_URL: url }).announce).toEqual({ url, caFile: undefined });
    const tls = { MEGURI_ANNOUNCE_URL: `rediss${url.slice(5)}/` };
    const ca = { MEGURI_ANNOUNCE_TLS_CA_FILE: file };
    expect(readServer({ ...tls, ...ca }).announce).toMatchObject({ caFile: file });
    const cleartext = { MEGURI_ANNOUNCE_URL: url, ...ca };
    expect(() => readServer(cleartext)).toThrow("MEGURI_ANNOUNCE_TLS_CA_FILE");
    const wrong = { MEGURI_ANNOUNCE_URL: `${url}/1` };
    expect(() => readServer(wrong)).toThrow(/^((?!s3cr)[\s\S])*$/);
  });

  test("refuses the test clock in production", () => {
    const env = { MEGURI_TEST_CLOCK: "1", NODE_ENV: "production" };
    expect(() => readServer(env)).toThrow("MEGURI_TEST_CLOCK");
    expect(readServer({ ...env, NODE_ENV: "development" }).testClock).toBe(true);
    expect(readServer({ ...env, MEGURI_TEST_CLOCK: "0" }).testClock).toBe(false);
  });
});

describe("who may call", () => {
  const jwt = {
    MEGURI_AUTH: "jwt",
    MEGURI_JWKS_URL: "https://issuer.example/keys",
    MEGURI_JWT_ISSUER: "https://issuer.example",
    MEGURI_JWT_AUDIENCE: "meguri",
  };
  const mtls = {
    MEGURI_AUTH: "mtls",
    MEGURI_CALLERS_FILE: file,
    MEGURI_TLS_CERT_FILE: file,
    MEGURI_TLS_KEY_FILE: file,
    MEGURI_TLS_CLIENT_CA_FILE: file,
  };
  const temporalTls = { MEGURI_TEMPORAL_TLS: "1" };

  test("is read from the variables of jwt, with the server on any host", () => {
    expect(readServer({ ...jwt, MEGURI_HOST: "0.0.0.0" })).toMatchObject({
      host: "0.0.0.0",
      auth: {
        kind: "jwt",
        keys: { jwksUrl: "https://issuer.example/keys" },
        issuer: "https://issuer.example",
        audience: "meguri",
      },
      tls: undefined,
    });
    const { MEGURI_JWKS_URL: _, ...others } = jwt;
    expect(readServer({ ...others, MEGURI_JWT_KEY_FILE: file })).toMatchObject({
      auth: { keys: { keyFile: file } },
    });
  });

  test("is read from the variables of mtls", () => {
    expect(readServer({ ...mtls, MEGURI_HOST: "0.0.0.0" })).toMatchObject({
      auth: { kind: "mtls", callersFile: file },
      tls: { certFile: file, keyFile: file, clientCaFile: file },
    });
  });

  test("has the prefix of the claims that limit, and the limits that are required", () => {
    expect(readServer(jwt).auth).toMatchObject({ claimPrefix: "meguri_", requiredLimits: [] });
    const strict = {
      ...jwt,
      MEGURI_JWT_CLAIM_PREFIX: "https://shop.example/limit/",
      MEGURI_REQUIRE_LIMITS: "programs, holds",
    };
    expect(readServer(strict).auth).toMatchObject({
      claimPrefix: "https://shop.example/limit/",
      requiredLimits: ["programs", "holds"],
    });
    expect(readServer({ ...mtls, MEGURI_REQUIRE_LIMITS: "owners" }).auth).toMatchObject({
      requiredLimits: ["owners"],
    });
  });

  test("has a list of origins", () => {
    const origins = "https://a.example, http://localhost:3000";
    expect(readServer({ MEGURI_CORS_ORIGINS: origins })).toMatchObject({
      corsOrigins: ["https://a.example", "http://localhost:3000"],
    });
  });

  test.each(["127.0.0.1", "127.8.9.1", "::1", "localhost"])("may be %s with none", (host) => {
    expect(readServer({ MEGURI_HOST: host }).host).toBe(host);
  });

  test.each([
    ["MEGURI_JWKS_URL", jwt],
    ["MEGURI_JWT_ISSUER", jwt],
    ["MEGURI_JWT_AUDIENCE", jwt],
    ["MEGURI_CALLERS_FILE", mtls],
    ["MEGURI_TLS_CERT_FILE", mtls],
    ["MEGURI_TLS_KEY_FILE", mtls],
    ["MEGURI_TLS_CLIENT_CA_FILE", mtls],
  ])("names %s when it is missing", (name, env) => {
    const missing = { [name]: expect.stringMatching(/^is required with MEGURI_AUTH=/) };
    expect(problemsOf({ ...env, [name]: undefined })).toEqual(missing);
    expect(problemsOf({ ...env, [name]: "" })).toEqual(missing);
  });

  test.each([
    ["MEGURI_HOST", { MEGURI_HOST: "10.0.0.1" }],
    ["MEGURI_JWT_KEY_FILE", { ...jwt, MEGURI_JWT_KEY_FILE: file }],
    ["MEGURI_JWKS_URL", { ...jwt, MEGURI_JWKS_URL: "http://issuer.example/keys" }],
    ["MEGURI_JWT_ISSUER", { MEGURI_JWT_ISSUER: "https://issuer.example" }],
    ["MEGURI_JWT_ISSUER", { ...mtls, MEGURI_JWT_ISSUER: "https://issuer.example" }],
    ["MEGURI_JWT_CLAIM_PREFIX", { ...mtls, MEGURI_JWT_CLAIM_PREFIX: "limit_" }],
    ["MEGURI_REQUIRE_LIMITS", { MEGURI_REQUIRE_LIMITS: "programs" }],
    ["MEGURI_REQUIRE_LIMITS", { ...jwt, MEGURI_REQUIRE_LIMITS: "1" }],
    ["MEGURI_REQUIRE_LIMITS", { ...jwt, MEGURI_REQUIRE_LIMITS: "programs,program" }],
    ["MEGURI_TLS_CLIENT_CA_FILE", { ...jwt, MEGURI_TLS_CLIENT_CA_FILE: file }],
    ["MEGURI_TLS_KEY_FILE", { ...jwt, MEGURI_TLS_CERT_FILE: file }],
    ["MEGURI_TLS_CERT_FILE", { MEGURI_TLS_KEY_FILE: file }],
    ["MEGURI_TEMPORAL_API_KEY_FILE", { MEGURI_TEMPORAL_API_KEY_FILE: file }],
    ["MEGURI_TEMPORAL_TLS_CA_FILE", { MEGURI_TEMPORAL_TLS_CA_FILE: file }],
    ["MEGURI_TEMPORAL_TLS_KEY_FILE", { ...temporalTls, MEGURI_TEMPORAL_TLS_CERT_FILE: file }],
    ["MEGURI_TEMPORAL_TLS_CERT_FILE", { ...temporalTls, MEGURI_TEMPORAL_TLS_KEY_FILE: file }],
  ])("names %s when it contradicts %j", (name, env) => {
    expect(Object.keys(problemsOf(env))).toEqual([name]);
  });

  test("never shows the webhook in an error", () => {
    const env = { MEGURI_SLACK_WEBHOOK_URL: "ftp://secret", MEGURI_PORT: "x" };
    expect(() => readServer(env)).toThrow(/^(?![\s\S]*secret)/);
  });
});

test("an empty variable is an unset one", () => {
  const empty = Object.fromEntries([...defaults.keys()].map((name) => [name, ""]));
  for (const kind of ["server", "worker", "setup"] as const) {
    expect(readConfig(empty, kind)).toEqual(readConfig({}, kind));
  }
  expect(readServer({ ...empty, MEGURI_PORT: "0", MEGURI_UNKNOWN: "" }).port).toBe(0);
});

test("what Kubernetes adds for a service named meguri is not read", () => {
  const env = { MEGURI_PORT: "tcp://10.0.0.1:80", MEGURI_PORT_80_TCP_PROTO: "tcp" };
  expect(readServer(env)).toEqual(readServer({}));
});

test("numbers are digits: no blank is 0", () => {
  for (const value of [" ", "0x10", "1e3", "-1", "Infinity"]) {
    expect(problemsOf({ MEGURI_DRAIN_SECONDS: value })).toEqual({
      MEGURI_DRAIN_SECONDS: "has to be a number from 0 to 600",
    });
  }
  expect(readServer({ MEGURI_DRAIN_SECONDS: "0.5" }).drainSeconds).toBe(0.5);
});

test("everything that is wrong is in one message, and each variable in one line", () => {
  const env = {
    MEGURI_HTTP1_PORT: "8080",
    MEGURI_DRAN_SECONDS: "5",
    MEGURI_DYNAMODB_ENDPOINT: "localhost:8000",
    MEGURI_TEMPORAL_ADDRESS: "https://temporal.example:7233",
    MEGURI_APPROVAL_EXPIRY_HOURS: "12",
    MEGURI_BULK_SOURCES: "/none/sources.json",
    MEGURI_TEMPORAL_API_KEY_FILE: file,
    MEGURI_LOG_LEVEL: "loud",
  };
  expect(() => readServer(env)).toThrow(
    [
      "the configuration is wrong; docs/run/configuration.md lists the variables",
      "  MEGURI_APPROVAL_REMINDER_HOURS is 24, which is not before MEGURI_APPROVAL_EXPIRY_HOURS=12",
      "  MEGURI_BULK_SOURCES names a file that is not there: /none/sources.json",
      "  MEGURI_DRAN_SECONDS is unknown; the nearest name is MEGURI_DRAIN_SECONDS",
      "  MEGURI_DYNAMODB_ENDPOINT has to be a URL that begins with http:// or https://",
      "  MEGURI_HTTP1_PORT is 8080, as MEGURI_PORT is",
      "  MEGURI_LOG_LEVEL has to be one of debug, info, warn, error, silent",
      "  MEGURI_TEMPORAL_ADDRESS has to be host:port, without a scheme such as https://",
      "  MEGURI_TEMPORAL_API_KEY_FILE needs MEGURI_TEMPORAL_TLS=1",
    ].join("\n"),
  );
});

test("a wrong variable does not make others seem to contradict it", () => {
  const token = { MEGURI_JWT_ISSUER: "https://issuer.example", MEGURI_JWT_AUDIENCE: "meguri" };
  const basic = { ...token, MEGURI_AUTH: "basic", MEGURI_HOST: "0.0.0.0" };
  expect(Object.keys(problemsOf(basic))).toEqual(["MEGURI_AUTH"]);
  const jwt = { ...token, MEGURI_AUTH: "jwt", MEGURI_JWT_KEY_FILE: "/none" };
  expect(Object.keys(problemsOf(jwt))).toEqual(["MEGURI_JWT_KEY_FILE"]);
  const reminder = { MEGURI_APPROVAL_REMINDER_HOURS: "soon", MEGURI_APPROVAL_EXPIRY_HOURS: "2" };
  expect(Object.keys(problemsOf(reminder))).toEqual(["MEGURI_APPROVAL_REMINDER_HOURS"]);
  const unknown = { MEGURI_PORT: "x", MEGURI_PORTS: "1" };
  expect(Object.keys(problemsOf(unknown))).toEqual(["MEGURI_PORT", "MEGURI_PORTS"]);
});

describe("ports", () => {
  test("of one process have to differ, except that any number of them may be 0", () => {
    const free = { MEGURI_PORT: "0", MEGURI_HTTP1_PORT: "0", MEGURI_OPERATORS_PORT: "0" };
    expect(problemsOf(free)).toEqual({});
    const equal = { MEGURI_PORT: "9000", MEGURI_HTTP1_PORT: "9000", MEGURI_OPERATORS_PORT: "9000" };
    expect(problemsOf(equal)).toEqual({
      MEGURI_HTTP1_PORT: "is 9000, as MEGURI_PORT is",
      MEGURI_OPERATORS_PORT: "is 9000, as MEGURI_PORT is",
    });
  });

  test("of different processes may be equal", () => {
    const env = { MEGURI_OPERATORS_PORT: "9000", MEGURI_METRICS_PORT: "9000" };
    expect([problemsOf(env), problemsOf(env, "worker")]).toEqual([{}, {}]);
  });
});

test.each([
  ["MEGURI_DYNAMODB_ENDPOINT", "localhost:8000", "http://localhost:8000"],
  ["MEGURI_DYNAMODB_ENDPOINT", "ftp://dynamodb.example", "https://vpce-1.dynamodb.example"],
  ["MEGURI_TEMPORAL_ADDRESS", "http://127.0.0.1:7233", "127.0.0.1:7233"],
  ["MEGURI_TEMPORAL_ADDRESS", "https://a.tmprl.cloud", "a.b.tmprl.cloud:7233"],
  ["MEGURI_TEMPORAL_ADDRESS", "temporal:7233/", "[::1]:7233"],
  ["MEGURI_TEMPORAL_ADDRESS", "temporal:", "temporal"],
  ["MEGURI_APPROVAL_REMINDER_HOURS", "168", "167.9"],
  ["MEGURI_APPROVAL_REMINDER_HOURS", "169", "0.001"],
  ["OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318", "http://collector:4318"],
])("%s may not be %j, but %j", (name, wrong, right) => {
  expect(Object.keys(problemsOf({ [name]: wrong }))).toEqual([name]);
  expect(problemsOf({ [name]: right })).toEqual({});
});

describe("files", () => {
  const mtls = {
    MEGURI_AUTH: "mtls",
    MEGURI_CALLERS_FILE: file,
    MEGURI_TLS_CERT_FILE: file,
    MEGURI_TLS_KEY_FILE: file,
    MEGURI_TLS_CLIENT_CA_FILE: file,
  };
  const jwt = { MEGURI_AUTH: "jwt", MEGURI_JWT_ISSUER: "i", MEGURI_JWT_AUDIENCE: "a" };
  const temporal = {
    MEGURI_TEMPORAL_TLS: "1",
    MEGURI_TEMPORAL_TLS_CA_FILE: file,
    MEGURI_TEMPORAL_TLS_CERT_FILE: file,
    MEGURI_TEMPORAL_TLS_KEY_FILE: file,
  };
  const announce = { MEGURI_ANNOUNCE_URL: "rediss://cache.example" };

  test.each([
    ...["MEGURI_CALLERS_FILE", "MEGURI_TLS_CERT_FILE"].map(
      (name) => ["server", name, mtls] as const,
    ),
    ["server", "MEGURI_TLS_KEY_FILE", mtls],
    ["server", "MEGURI_TLS_CLIENT_CA_FILE", mtls],
    ["server", "MEGURI_JWT_KEY_FILE", jwt],
    ["server", "MEGURI_BULK_SOURCES", {}],
    ["worker", "MEGURI_BULK_SOURCES", {}],
    ["setup", "MEGURI_BULK_SOURCES", {}],
    ["server", "MEGURI_EXPORT_DESTINATIONS", {}],
    ["worker", "MEGURI_EXPORT_DESTINATIONS", {}],
    ["worker", "MEGURI_WORKFLOW_BUNDLE", {}],
    ["server", "MEGURI_ANNOUNCE_TLS_CA_FILE", announce],
    ["worker", "MEGURI_TEMPORAL_TLS_CA_FILE", temporal],
    ["worker", "MEGURI_TEMPORAL_TLS_CERT_FILE", temporal],
    ["setup", "MEGURI_TEMPORAL_TLS_KEY_FILE", temporal],
  ] as const)("of a %s in %s have to be there", (kind, name, env) => {
    const problemOf = (path: string) => problemsOf({ ...env, [name]: path }, kind);
    expect(problemOf(file)).toEqual({});
    expect(problemOf("/none/file")).toEqual({
      [name]: "names a file that is not there: /none/file",
    });
    expect(problemOf(`${file}/file`)).toEqual({ [name]: expect.stringContaining("is not there") });
    expect(problemOf("/")).toEqual({ [name]: "names a folder, not a file: /" });
  });

  test("are shown by the whole path, so that a relative one tells where it was looked for", () => {
    expect(problemsOf({ MEGURI_BULK_SOURCES: "none.json" })).toEqual({
      MEGURI_BULK_SOURCES: `names a file that is not there: ${process.cwd()}/none.json`,
    });
  });
});

describe("a worker", () => {
  const ofServer = {
    MEGURI_AUTH: "mtls",
    MEGURI_CALLERS_FILE: "/none/callers.json",
    MEGURI_TLS_CERT_FILE: "/none/tls.crt",
    MEGURI_JWT_ISSUER: "https://issuer.example",
    MEGURI_PORT: "9000",
    MEGURI_HTTP1_PORT: "9000",
  };

  test("needs no variables of authentication to listen for probes of other machines", () => {
    expect(readConfig({ MEGURI_HOST: "0.0.0.0" }, "worker").host).toBe("0.0.0.0");
    expect(problemsOf({ MEGURI_HOST: "0.0.0.0" })).toHaveProperty("MEGURI_HOST");
  });

  test("and setup ignore those of servers, whose files they do not have", () => {
    expect(Object.keys(problemsOf(ofServer))).toHaveLength(6);
    for (const kind of ["worker", "setup"] as const) {
      expect(readConfig(ofServer, kind)).toEqual(readConfig({}, kind));
    }
  });

  test("has its own variables, which servers and setup ignore", () => {
    const env = { MEGURI_METRICS_PORT: "x", MEGURI_WORKFLOW_BUNDLE: "/none" };
    expect(Object.keys(problemsOf(env, "worker"))).toHaveLength(2);
    expect([problemsOf(env), problemsOf(env, "setup")]).toEqual([{}, {}]);
  });

  test("still refuses a name that no process has", () => {
    expect(problemsOf({ MEGURI_JWT_KEYFILE: file }, "worker")).toEqual({
      MEGURI_JWT_KEYFILE: "is unknown; the nearest name is MEGURI_JWT_KEY_FILE",
    });
  });
});

test("the events process needs nothing of Temporal, and listens on its own port", () => {
  const wrong = {
    MEGURI_TEMPORAL_ADDRESS: "http://x",
    MEGURI_BULK_SOURCES: "/none",
    MEGURI_PORT: "x",
  };
  const env = { ...wrong, MEGURI_HOST: "0.0.0.0", MEGURI_EVENTS_PORT: "9000" };
  expect(readConfig(env, "events")).toMatchObject({ eventsPort: 9_000, host: "0.0.0.0" });
  expect(problemsOf({ MEGURI_EVENT_SUBSCRIPTIONS: "/none" }, "events")).toHaveProperty([
    "MEGURI_EVENT_SUBSCRIPTIONS",
  ]);
  expect(problemsOf({ MEGURI_EVENT_SUBSCRIPTIONS: "/none" }, "worker")).toEqual({});
});
