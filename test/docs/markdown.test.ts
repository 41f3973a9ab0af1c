/** Tests the helpers of the documentation tests: they detect wrong answers and failed commands. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { patternOf } from "../support/console.ts";
import { asPrinted, codeBlocks, onPorts, type Shell, startShell } from "../support/markdown.ts";

describe("a printed answer fits", () => {
  test.each([
    ["the same", { a: "1" }, { a: "1" }],
    ["one with more fields", { a: { b: 1, c: 2 } }, { a: { b: 1 } }],
    ["any value where … is printed", { token: "x" }, { token: "…" }],
    ["any time", "2031-01-01T00:00:00Z", "2026-11-20T03:00:00.123Z"],
    ["any month", [{ month: "2031-01" }], [{ month: "2026-11" }]],
  ])("%s", (_, actual, printed) => {
    expect(asPrinted(actual, printed)).toEqual(printed);
  });
});

describe("a printed answer does not fit", () => {
  test.each([
    ["another value", { a: "2" }, { a: "1" }],
    ["another type", { a: 1 }, { a: "1" }],
    ["one without a field", { b: 1 }, { a: "…" }],
    ["a longer list", [1, 2], [1]],
    ["a shorter list", [1], [1, 2]],
    ["fields where none are printed", { a: 1 }, {}],
    ["a text where a time is printed", "soon", "2026-11-20T03:00:00.123Z"],
    ["a time where a month is printed", "2026-11-20T03:00:00Z", "2026-11"],
  ])("%s", (_, actual, printed) => {
    expect(asPrinted(actual, printed)).not.toEqual(printed);
  });
});

describe("what a terminal shows", () => {
  const pattern = patternOf(
    'a  "lateness":"0.03s" 2026-11-23T10:22:26Z 4 seconds ago\n…\nend (1).',
  );

  test.each([
    ["the same", 'a  "lateness":"0.03s" 2026-11-23T10:22:26Z 4 seconds ago\n…\nend (1).', true],
    [
      "other times",
      'a\n"lateness":"2s" 2031-01-01T00:00:00.1+09:00 1 minute ago x\nend (1).',
      true,
    ],
    ["another number", 'a "lateness":"2s" 2031-01-01T00:00:00Z now x\nend (2).', false],
    ["a missing end", 'a "lateness":"2s" 2031-01-01T00:00:00Z now x', false],
    ["no time", 'a "lateness":"2s" soon now x\nend (1).', false],
  ])("%s", (_, answer, fits) => {
    expect(pattern.test(answer)).toBe(fits);
  });
});

describe("a shell", () => {
  let shell: Shell;
  beforeAll(() => {
    shell = startShell();
  });
  afterAll(() => shell.close());

  test("keeps functions and variables", async () => {
    expect(await shell.run("greeting=hello\ngreet() { echo $greeting $1; }")).toBe("");
    expect(await shell.run("greet you")).toBe("hello you\n");
  });

  test("reports what a failed command has printed, and runs the next one", async () => {
    const failing = shell.run("echo out; echo why >&2; false");
    await expect(failing).rejects.toThrow(/^status 1 of echo out; .*\nout\n/);
    expect(await shell.run("echo on")).toBe("on\n");
  });

  test("that ends rejects its command and every later one", async () => {
    const other = startShell();
    await expect(other.run("exit 3")).rejects.toThrow("the shell ended");
    await expect(other.run("echo")).rejects.toThrow("the shell ended");
    await other.close();
  });
});

test("a code block has its language, name and line", () => {
  const [first] = codeBlocks("docs/call/tutorial.md");
  expect(first).toMatchObject({ language: "sh", name: "" });
  expect(first?.code).toMatch(/^call\(\) \{\n/);
  const names = codeBlocks("README.md").map(({ name }) => name);
  expect(names).toEqual(["", "curl", "buf", "client", ""]);
});

test("the printed ports are replaced by the test's", () => {
  const code = "http://127.0.0.1:8080 http://127.0.0.1:8081";
  const replaced = onPorts(code, { port: 1, http1Port: 2 });
  expect(replaced).toBe("http://127.0.0.1:1 http://127.0.0.1:2");
});
