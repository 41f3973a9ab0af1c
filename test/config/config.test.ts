/** Tests the configuration: its defaults, and errors that name the wrong variables. */
import { describe, expect, test } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { readConfig } from "../../src/config/config.ts";

describe("readConfig", () => {
  test("needs no variable", () => {
    expect(readConfig({})).toMatchObject({
      host: "127.0.0.1",
      operatorsPort: 8083,
      auth: { kind: "none" },
      tls: undefined,
      callsPerSecond: undefined,
      corsOrigins: [],
      temporalTls: undefined,
      temporalApiKey: undefined,
      announce: undefined,
      dynamoEndpoint: undefined,
      tablePrefix: "meguri-",
      historyDays: 90,
      maxStreams: 10_000,
      drainSeconds: 20,
      buildId: manifest.version,
      bulkSources: undefined,
      bulkRowsPerSecond: 100,
      approvalReminderHours: 24,
      approvalExpiryHours: 168,
      temporalApprovals: undefined,
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
    ["MEGURI_HOST", ""],
    ["MEGURI_AUTH", "basic"],
    ["MEGURI_CALLS_PER_SECOND", "0"],
    ["MEGURI_CALLS_PER_SECOND", "1.5"],
    ["MEGURI_CORS_ORIGINS", "*"],
    ["MEGURI_CORS_ORIGINS", "https://a.example/"],
    ["MEGURI_CORS_ORIGINS", "https://a.example,"],
    ["MEGURI_DYNAMODB_ENDPOINT", "localhost"],
    ["MEGURI_TABLE_PREFIX", "a b"],
    ["MEGURI_TEMPORAL_ADDRESS", ""],
    ["MEGURI_BUILD_ID", ""],
    ["MEGURI_HISTORY_DAYS", "0"],
    ["MEGURI_HISTORY_DAYS", "1.5"],
    ["MEGURI_HISTORY_DAYS", "3651"],
    ["MEGURI_MAX_STREAMS", "0"],
    ["MEGURI_MAX_STREAMS", "many"],
    ["MEGURI_DRAIN_SECONDS", "soon"],
    ["MEGURI_DRAIN_SECONDS", "601"],
    ["MEGURI_TEMPORAL_APPROVALS", ""],
    ["MEGURI_ANNOUNCE_URL", ""],
    ["MEGURI_ANNOUNCE_URL", "cache.example:6379"],
    ["MEGURI_ANNOUNCE_URL", "https://cache.example"],
    ["MEGURI_ANNOUNCE_URL", "redis://"],
    ["MEGURI_ANNOUNCE_URL", "redis://cache.example:99999"],
    ["MEGURI_ANNOUNCE_URL", "redis://cache.example/1"],
    ["MEGURI_ANNOUNCE_URL", "redis://cache.example?family=6"],
    ["MEGURI_ANNOUNCE_URL", "redis://:100%@cache.example"],
    ["MEGURI_ANNOUNCE_TLS_CA_FILE", "ca.pem"],
    ["MEGURI_BULK_SOURCES", ""],
    ["MEGURI_BULK_ROWS_PER_SECOND", "0"],
    ["MEGURI_BULK_ROWS_PER_SECOND", "1.5"],
    ["MEGURI_APPROVAL_REMINDER_HOURS", "0"],
    ["MEGURI_APPROVAL_EXPIRY_HOURS", "never"],
    ["MEGURI_SLACK_WEBHOOK_URL", "hooks.slack.com"],
    ["MEGURI_SLACK_WEBHOOK_URL", "file:///tmp/hook"],
    ["MEGURI_TEMPORAL_UI_URL", "localhost:8233"],
    ["MEGURI_LOG_LEVEL", "loud"],
    ["MEGURI_TEST_CLOCK", "yes"],
  ])("names %s when it is %j", (name, value) => {
    expect(() => readConfig({ [name]: value })).toThrow(name);
  });

  test("has the server of announcements, and does not show its password in an error", () => {
    const url = "redis://user:s3cr%25t@cache.example:6380";
    expect(readConfig({ MEGURI_ANNOUNCE_URL: url }).announce).toEqual({ url, caFile: undefined });
    const tls = { MEGURI_ANNOUNCE_URL: `rediss${url.slice(5)}/` };
    const file = { MEGURI_ANNOUNCE_TLS_CA_FILE: "ca.pem" };
    expect(readConfig({ ...tls, ...file }).announce).toMatchObject({ caFile: "ca.pem" });
    const cleartext = { MEGURI_ANNOUNCE_URL: url, ...file };
    expect(() => readConfig(cleartext)).toThrow("MEGURI_ANNOUNCE_TLS_CA_FILE");
    const wrong = { MEGURI_ANNOUNCE_URL: `${url}/1` };
    expect(() => readConfig(wrong)).toThrow(/^((?!s3cr)[\s\S])*$/);
  });

  test("names all wrong variables at once", () => {
    const wrong = { MEGURI_PORT: "x", MEGURI_LOG_LEVEL: "y" };
    expect(() => readConfig(wrong)).toThrow(/MEGURI_PORT[\s\S]*MEGURI_LOG_LEVEL/);
  });

  test("refuses the test clock in production", () => {
    const env = { MEGURI_TEST_CLOCK: "1", NODE_ENV: "production" };
    expect(() => readConfig(env)).toThrow("MEGURI_TEST_CLOCK");
    expect(readConfig({ ...env, NODE_ENV: "development" }).testClock).toBe(true);
    expect(readConfig({ ...env, MEGURI_TEST_CLOCK: "0" }).testClock).toBe(false);
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
    MEGURI_CALLERS_FILE: "callers.json",
    MEGURI_TLS_CERT_FILE: "tls.crt",
    MEGURI_TLS_KEY_FILE: "tls.key",
    MEGURI_TLS_CLIENT_CA_FILE: "ca.crt",
  };
  const temporalTls = { MEGURI_TEMPORAL_TLS: "1" };

  test("is read from the variables of jwt, with the server on any host", () => {
    expect(readConfig({ ...jwt, MEGURI_HOST: "0.0.0.0" })).toMatchObject({
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
    expect(readConfig({ ...others, MEGURI_JWT_KEY_FILE: "key.pem" })).toMatchObject({
      auth: { keys: { keyFile: "key.pem" } },
    });
  });

  test("is read from the variables of mtls", () => {
    expect(readConfig({ ...mtls, MEGURI_HOST: "0.0.0.0" })).toMatchObject({
      auth: { kind: "mtls", callersFile: "callers.json" },
      tls: { certFile: "tls.crt", keyFile: "tls.key", clientCaFile: "ca.crt" },
    });
  });

  test("has the prefix of the claims that limit, and the limits that are required", () => {
    expect(readConfig(jwt).auth).toMatchObject({ claimPrefix: "meguri_", requiredLimits: [] });
    const strict = {
      ...jwt,
      MEGURI_JWT_CLAIM_PREFIX: "https://shop.example/limit/",
      MEGURI_REQUIRE_LIMITS: "programs, actors",
    };
    expect(readConfig(strict).auth).toMatchObject({
      claimPrefix: "https://shop.example/limit/",
      requiredLimits: ["programs", "actors"],
    });
    expect(readConfig({ ...mtls, MEGURI_REQUIRE_LIMITS: "owners" }).auth).toMatchObject({
      requiredLimits: ["owners"],
    });
  });

  test("has a list of origins", () => {
    const origins = "https://a.example, http://localhost:3000";
    expect(readConfig({ MEGURI_CORS_ORIGINS: origins })).toMatchObject({
      corsOrigins: ["https://a.example", "http://localhost:3000"],
    });
  });

  test.each(["127.0.0.1", "127.8.9.1", "::1", "localhost"])("may be %s with none", (host) => {
    expect(readConfig({ MEGURI_HOST: host }).host).toBe(host);
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
    expect(() => readConfig({ ...env, [name]: undefined })).toThrow(`is required`);
    expect(() => readConfig({ ...env, [name]: undefined })).toThrow(name);
  });

  test.each([
    ["MEGURI_HOST", { MEGURI_HOST: "10.0.0.1" }],
    ["MEGURI_JWT_KEY_FILE", { ...jwt, MEGURI_JWT_KEY_FILE: "key.pem" }],
    ["MEGURI_JWKS_URL", { ...jwt, MEGURI_JWKS_URL: "http://issuer.example/keys" }],
    ["MEGURI_JWT_ISSUER", { ...jwt, MEGURI_AUTH: "none" }],
    ["MEGURI_JWT_ISSUER", { ...mtls, MEGURI_JWT_ISSUER: "https://issuer.example" }],
    ["MEGURI_JWT_CLAIM_PREFIX", { ...mtls, MEGURI_JWT_CLAIM_PREFIX: "limit_" }],
    ["MEGURI_JWT_CLAIM_PREFIX", { ...jwt, MEGURI_JWT_CLAIM_PREFIX: "" }],
    ["MEGURI_REQUIRE_LIMITS", { MEGURI_REQUIRE_LIMITS: "programs" }],
    ["MEGURI_REQUIRE_LIMITS", { ...jwt, MEGURI_REQUIRE_LIMITS: "1" }],
    ["MEGURI_REQUIRE_LIMITS", { ...jwt, MEGURI_REQUIRE_LIMITS: "programs,program" }],
    ["MEGURI_REQUIRE_LIMITS", { ...jwt, MEGURI_REQUIRE_LIMITS: "" }],
    ["MEGURI_TLS_CLIENT_CA_FILE", { ...jwt, MEGURI_TLS_CLIENT_CA_FILE: "ca.crt" }],
    ["MEGURI_TLS_KEY_FILE", { ...jwt, MEGURI_TLS_CERT_FILE: "tls.crt" }],
    ["MEGURI_TLS_CERT_FILE", { MEGURI_TLS_KEY_FILE: "tls.key" }],
    ["MEGURI_TEMPORAL_API_KEY", { MEGURI_TEMPORAL_API_KEY: "secret" }],
    ["MEGURI_TEMPORAL_TLS_CA_FILE", { MEGURI_TEMPORAL_TLS_CA_FILE: "ca.crt" }],
    ["MEGURI_TEMPORAL_TLS_KEY_FILE", { ...temporalTls, MEGURI_TEMPORAL_TLS_CERT_FILE: "a" }],
    ["MEGURI_TEMPORAL_TLS_CERT_FILE", { ...temporalTls, MEGURI_TEMPORAL_TLS_KEY_FILE: "a" }],
  ])("names %s when it contradicts %j", (name, env) => {
    expect(() => readConfig(env)).toThrow(name);
  });

  test("never shows the API key in an error", () => {
    const env = { MEGURI_TEMPORAL_API_KEY: "secret", MEGURI_PORT: "x" };
    expect(() => readConfig(env)).toThrow(/^(?![\s\S]*secret)/);
  });
});
