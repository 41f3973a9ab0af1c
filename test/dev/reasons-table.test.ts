/** Tests that the generated table replaces the text between its markers, and nothing else. */
import { expect, test } from "vitest";
import { withReasonsTable } from "../../tools/dev/reasons-table.ts";

const begin = "<!-- reasons: generated from the table in src/platform/words -->";
const end = "<!-- end of reasons -->";

test("the table is between the markers and the text around them stays", () => {
  const lines = withReasonsTable(`# Errors\n${begin}\nold\n${end}\nMore.\n`).split("\n");
  expect(lines.slice(0, 4)).toEqual([
    "# Errors",
    begin,
    "| reason | code | metadata | what it means | send again? |",
    "|---|---|---|---|---|",
  ]);
  expect(lines.slice(-3)).toEqual([end, "More.", ""]);
  expect(lines).not.toContain("old");
});

test.each(["", begin, end, `${end}\n${begin}`, `${begin}\n${end}\n${begin}\n${end}`])(
  "missing, reversed or repeated markers are an error",
  (text) => {
    expect(() => withReasonsTable(text)).toThrow("the document needs one line");
  },
);
