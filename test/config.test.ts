/** Tests the configuration: its defaults, and errors that name the wrong variables. */
import { describe, expect, test } from "vitest";
import manifest from "../package.json" with { type: "json" };
import { readConfig } from "../src/config.ts";

describe("readConfig", () => {
  test("needs no variable", () => {
    expect(readConfig({})).toMatchObject({
      host: "127.0.0.1",
      dynamoEndpoint: undefined,
      tablePrefix: "meguri-",
      historyDays: 90,
      maxStreams: 10_000,
      drainSeconds: 20,
      buildId: manifest.version,
      testClock: false,
    });
  });

  test.each([
    ["MEGURI_PORT", "http"],
    ["MEGURI_PORT", "65536"],
    ["MEGURI_HTTP1_PORT", "-1"],
    ["MEGURI_METRICS_PORT", "1.5"],
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
