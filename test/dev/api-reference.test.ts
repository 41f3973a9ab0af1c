/** Tests the generated API reference: complete, linked and with the rules of the fields. */
import { expect, test } from "vitest";
import * as points from "../../src/gen/meguri/points/v1/points_service_pb.ts";
import * as programs from "../../src/gen/meguri/programs/v1/program_service_pb.ts";
import { apiReference } from "../../tools/dev/api-reference.ts";

const pointsFile = points.file_meguri_points_v1_points_service;
const programsFile = programs.file_meguri_programs_v1_program_service;
const files = [pointsFile, ...pointsFile.dependencies, programsFile].filter(({ proto }) =>
  proto.package.startsWith("meguri."),
);
const text = apiReference(files);
const anchors = [...text.matchAll(/^#{2,4} (.+)$/gm)].map(([, title]) =>
  String(title).toLowerCase().replaceAll(".", ""),
);

test("every RPC has a section with its path and idempotency level", () => {
  for (const { name, parent } of points.PointsService.methods) {
    expect(text).toContain(
      `\n#### ${name}\n\n\`/${parent.typeName}/${name}\` (idempotency level \``,
    );
  }
});

test("every link leads to a heading", () => {
  const links = [...text.matchAll(/\]\(#([^)]+)\)/g)].map(([, anchor]) => String(anchor));
  expect(links.length).toBeGreaterThan(anchors.length);
  expect(links.filter((link) => !anchors.includes(link))).toEqual([]);
});

test("a field has its type and its rules", () => {
  expect(text).toContain("| `points` | int64 | 1 to 1,000,000,000 |");
  expect(text).toContain("| `event_id` | string | 1 to 128 visible ASCII characters without # |");
  expect(text).toMatch(/\| `event` \| \[EventName\]\(#eventname\) \| one of `key`, required \|/);
});

test("the order of the files changes nothing", () => {
  expect(apiReference(files.toReversed())).toBe(text);
});
