/** Tests which values `npm run check:config` shows, without secrets, and the table of variables. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { defaults } from "../../../src/platform/config/config.ts";
import { valuesInForce } from "../../../src/platform/config/shown.ts";
import { projectRoot } from "../../support/markdown.ts";

test("the values that are set and the defaults, of the variables that the process reads", () => {
  const env = { MEGURI_PORT: "9000", MEGURI_DRAIN_SECONDS: "", MEGURI_BUILD_ID: "b", HOME: "/" };
  const server = valuesInForce(env, "server");
  expect(server).toEqual(
    expect.arrayContaining([
      "MEGURI_PORT=9000",
      "MEGURI_DRAIN_SECONDS=20 (default)",
      "MEGURI_AUTH=none (default)",
    ]),
  );
  const names = (lines: readonly string[]) => lines.map((line) => line.split("=")[0]);
  expect(names(server)).not.toContain("MEGURI_METRICS_PORT");
  expect(names(server)).not.toContain("MEGURI_JWKS_URL");
  expect(names(server)).not.toContain("HOME");
  const worker = valuesInForce(env, "worker");
  expect(worker).toContain("MEGURI_BUILD_ID=b");
  expect(names(worker)).not.toContain("MEGURI_AUTH");
  expect(names(worker)).not.toContain("MEGURI_PORT");
  expect(names(valuesInForce(env, "setup"))).not.toContain("MEGURI_HOST");
});

const page = readFileSync(`${projectRoot}docs/run/configuration.md`, "utf8");

test("what the page calls a secret is hidden", () => {
  const rows = [...page.matchAll(/^\| `(MEGURI_\w+)` \|.*\ba secret\b/gm)];
  const secrets = rows.map(([, name = ""]) => name);
  expect(secrets).toContain("MEGURI_SLACK_WEBHOOK_URL");
  for (const name of secrets) {
    const isWhole = name !== "MEGURI_ANNOUNCE_URL";
    const url = isWhole ? "https://a.example/s3cret" : "rediss://user:s3cret@cache.example";
    const [line] = valuesInForce({ [name]: url }, "server").filter((each) => each.startsWith(name));
    expect(line).toMatch(/^\w+=(?!.*s3cret).*\*\*\*/);
  }
});

test("the password and the query of any URL are hidden, and the rest of it is shown", () => {
  for (const name of defaults.keys()) {
    const env = { [name]: "https://user:s3cret@host.example/path?token=s3cret" };
    for (const kind of ["server", "worker"] as const) {
      expect(valuesInForce(env, kind).join("\n")).not.toContain("s3cret");
    }
  }
  const endpoint = "https://vpce-1.dynamodb.example:8443/path";
  const [line] = valuesInForce({ MEGURI_DYNAMODB_ENDPOINT: endpoint }, "setup").filter((each) =>
    each.includes("ENDPOINT"),
  );
  expect(line).toBe(`MEGURI_DYNAMODB_ENDPOINT=${endpoint}`);
});

test("the table of variables has every variable with its default", () => {
  const rows = new Map(
    [...page.matchAll(/^\| `((?:MEGURI|AWS|OTEL|NODE)_\w+)` \| (?:`(.+?)`|–) \|/gm)].map((row) => [
      row[1] as string,
      row[2],
    ]),
  );
  // Its default is the version of the package, which changes.
  expect(rows).toEqual(new Map(defaults).set("MEGURI_BUILD_ID", undefined));
});
