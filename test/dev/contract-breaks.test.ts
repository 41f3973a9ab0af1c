/** Tests that the breaking check finds what buf finds, and permits the deliberate breaks alone. */
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import {
  type Break,
  type BreakingException,
  findBreaks,
  reviewBreaks,
} from "../../src/dev/contract-breaks.ts";

const file = "proto/shop/v1/shop.proto";
const lost = (field: string, path = file, type = "FIELD_NO_DELETE"): Break => ({
  type,
  path,
  start_line: 5,
  message: `Previously present field "1" with name "${field}" on message "Cart" was deleted.`,
});
const exception: BreakingException = {
  rules: ["FIELD_NO_DELETE"],
  file,
  message: /"(price|currency)" on message "Cart"/,
  reason: "total has both",
};
const where = `${file}, ${exception.message}`;

describe("a break", () => {
  test("is permitted by an exception, which is printed once with its reason", () => {
    expect(reviewBreaks([lost("price"), lost("currency")], [exception])).toEqual({
      lines: [`deliberate: ${where} (2): total has both`],
      failed: false,
    });
  });

  test.each([
    ["of another element", lost("owner")],
    ["in another file", lost("price", "proto/shop/v1/cart.proto")],
    ["of another rule", lost("price", file, "FIELD_NO_DELETE_UNLESS_NAME_RESERVED")],
  ])("%s fails, beside a permitted one", (_, other) => {
    expect(reviewBreaks([lost("price"), other], [exception])).toEqual({
      lines: [
        `deliberate: ${where} (1): total has both`,
        `BREAK: ${other.path}:5: ${other.message} (${other.type})`,
      ],
      failed: true,
    });
  });

  test("without a file fails", () => {
    const message = 'Previously present package "shop.v1" was deleted.';
    expect(reviewBreaks([{ type: "PACKAGE_NO_DELETE", message }], [exception])).toEqual({
      lines: [`no longer needed: ${where}`, `BREAK: proto:1: ${message} (PACKAGE_NO_DELETE)`],
      failed: true,
    });
  });
});

test("an exception that permits nothing is named and does not fail", () => {
  const lines = [`no longer needed: ${where}`];
  expect(reviewBreaks([], [exception])).toEqual({ lines, failed: false });
});

describe("buf, with the rules of this project", () => {
  let folder: string | undefined;
  afterEach(() => {
    if (folder !== undefined) rmSync(folder, { recursive: true });
    folder = undefined;
  });

  /** Writes a project whose only proto has this text after its package; returns its folder. */
  function project(name: string, text: string): string {
    folder ??= mkdtempSync(join(tmpdir(), "meguri-contract-breaks-"));
    const root = join(folder, name);
    mkdirSync(join(root, "proto", "shop", "v1"), { recursive: true });
    mkdirSync(join(root, ".cache", "protos"), { recursive: true });
    copyFileSync(join(import.meta.dirname, "..", "..", "buf.yaml"), join(root, "buf.yaml"));
    writeFileSync(join(root, file), `syntax = "proto3";\npackage shop.v1;\n${text}`);
    return root;
  }

  const rpc = (name: string) => `  rpc ${name}(Cart) returns (Cart);\n`;
  const protoOf = (fields: string, rpcs: string) =>
    `message Cart {\n${fields}}\nservice Shop {\n${rpcs}}\n`;
  const owner = "  string owner = 2;\n";
  const before = protoOf(`  int64 price = 1;\n${owner}`, rpc("Buy") + rpc("See"));

  test("finds a lost method and a lost field, though reserved, and no break in additions", () => {
    const reserved = '  reserved 1;\n  reserved "price";\n';
    const after = protoOf(`${reserved}${owner}  string note = 4;\n`, rpc("Buy") + rpc("Add"));
    const breaks = findBreaks(project("after", after), project("before", before));
    expect(breaks.map(({ type, path, message }) => [type, path, message]).sort()).toEqual([
      ["FIELD_NO_DELETE", file, lost("price").message],
      ["RPC_NO_DELETE", file, 'Previously present RPC "See" on service "Shop" was deleted.'],
    ]);
    expect(reviewBreaks(breaks, [exception])).toMatchObject({
      lines: [expect.stringMatching(/^deliberate: /), expect.stringMatching(/^BREAK: .*"See"/)],
      failed: true,
    });
  });

  test("finds nothing in equal protos", () => {
    expect(findBreaks(project("after", before), project("before", before))).toEqual([]);
  });

  test("protos that do not compile are never permitted", () => {
    const breaks = findBreaks(project("after", "message {"), project("before", before));
    expect(breaks.map(({ type }) => type)).toContain("COMPILE");
    expect(reviewBreaks(breaks, [exception]).failed).toBe(true);
  });

  test("a folder without protos is an error", () => {
    const root = project("after", before);
    expect(() => findBreaks(root, join(root, "nowhere"))).toThrow("buf breaking failed");
  });
});
