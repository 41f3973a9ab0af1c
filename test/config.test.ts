/** Tests the configuration: its defaults, and errors that name the wrong variables. */
import { describe, expect, test } from "vitest";
import manifest from "../package.json" with { type: "json" };
import { readConfig } from "../src/config.ts";

describe("readConfig", () => {
  test("needs no variable", () => {
    expect(readConfig({})).toMatchObject({
      host: "127.0.0.1",
      operatorsPort: 8083,
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
