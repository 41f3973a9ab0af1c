/** Tests which names of variables are unknown, and that this project uses no such name itself. */
import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { defaults } from "../../../src/platform/config/config.ts";
import {
  commandVariables,
  isServiceLink,
  reportUnknown,
} from "../../../src/platform/config/unknown.ts";
import { projectRoot } from "../../support/markdown.ts";

const known = [...defaults.keys()];

/** What is said of each unknown name. */
function unknownOf(names: readonly string[]): Record<string, string> {
  const problems: Record<string, string> = {};
  reportUnknown(names, known, (name, text) => {
    problems[name] = text;
  });
  return problems;
}

test.each([
  ["MEGURI_DRAIN_SECOND", "MEGURI_DRAIN_SECONDS"],
  ["MEGURI_HTTP_PORT", "MEGURI_HTTP1_PORT"],
  ["MEGURI_DYNAMO_ENDPOINT", "MEGURI_DYNAMODB_ENDPOINT"],
  ["MEGURI_TEMPORAL_ADRESS", "MEGURI_TEMPORAL_ADDRESS"],
  ["MEGURI_TLS_CRT_FILE", "MEGURI_TLS_CERT_FILE"],
  ["MEGURI_AWS_REGION", "AWS_REGION"],
])("%s is unknown, and the nearest name is %s", (name, nearest) => {
  expect(unknownOf([name])).toEqual({ [name]: `is unknown; the nearest name is ${nearest}` });
});

test("known ones, those of the command and those of other programs are left alone", () => {
  expect(unknownOf([...known, ...commandVariables, "HOME", "AWS_PROFILE", "TEST_X"])).toEqual({});
});

test.each([
  ["MEGURI_PORT", "tcp://10.0.0.1:8080"],
  ["MEGURI_PORT_8080_TCP", "tcp://10.0.0.1:8080"],
  ["MEGURI_SERVICE_HOST", "10.0.0.1"],
  ["MEGURI_SERVICE_PORT", "8080"],
  ["MEGURI_SERVER_SERVICE_PORT_GRPC", "8080"],
  ["MEGURI_SERVER_PORT", "tcp://10.0.0.1:8080"],
  ["MEGURI_SERVER_PORT_8080_TCP_ADDR", "10.0.0.1"],
])("%s=%s comes from Kubernetes", (name, value) => {
  expect(isServiceLink(name, value)).toBe(true);
});

test("no variable of this project is taken for one of Kubernetes", () => {
  expect(known.filter((name) => isServiceLink(name, "8080"))).toEqual([]);
});

/**
 * A variable that only a test or a tool reads has another prefix, because the processes that it
 * starts would refuse this one.
 */
test("the code and the pages of this project name no unknown variable", () => {
  const folders = "{src,test,bench,packages,tools,examples,activities,workflows,docs,deploy}";
  const files = globSync(`{*.md,*.json,${folders}/**/*.{ts,md,yml,json,sh}}`, {
    cwd: projectRoot,
    exclude: ["test/platform/config/**", "test/ops/check-config.check.ts"],
  });
  const names = files.flatMap((file) =>
    Array.from(readFileSync(projectRoot + file, "utf8").matchAll(/\bMEGURI_[A-Z0-9_]+\b/g), String),
  );
  expect(names.length).toBeGreaterThan(500);
  // The example of docs/run/configuration.md.
  expect(Object.keys(unknownOf(names))).toEqual(["MEGURI_DRAIN_SECOND"]);
});
