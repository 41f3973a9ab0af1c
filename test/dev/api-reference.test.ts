/** Tests the generated API reference: complete, linked and with the rules of the fields. */
import type { DescFile } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import * as bulkGrants from "../../src/gen/meguri/bulkgrants/v1/bulk_grant_service_pb.ts";
import * as points from "../../src/gen/meguri/points/v1/points_service_pb.ts";
import * as programs from "../../src/gen/meguri/programs/v1/program_service_pb.ts";
import { apiReference } from "../../tools/dev/api-reference.ts";

const services = [
  points.file_meguri_points_v1_points_service,
  programs.file_meguri_programs_v1_program_service,
  bulkGrants.file_meguri_bulkgrants_v1_bulk_grant_service,
];
const withDependencies = (file: DescFile): DescFile[] => [
  file,
  ...file.dependencies.flatMap(withDependencies),
];
const files = [...new Set(services.flatMap(withDependencies))].filter(({ proto }) =>
  proto.package.startsWith("meguri."),
);
const pages = apiReference(files);
const pointsPage = pages.get("points.md") ?? "";

const anchors = new Set(
  [...pages].flatMap(([page, text]) =>
    [...text.matchAll(/^#{1,3} (.+)$/gm)].map(
      ([, title]) => `${page}#${String(title).toLowerCase().replaceAll(".", "")}`,
    ),
  ),
);

test("a package has a page, and the index names all of them", () => {
  expect([...pages.keys()]).toEqual([
    ...["README.md", "access.md", "bulkgrants.md", "points.md", "programs.md"],
  ]);
  const index = pages.get("README.md");
  expect(index).toContain("- [meguri.points.v1](points.md#meguripointsv1)\n");
  expect(index).toContain("    - [GrantPoints](points.md#grantpoints)\n");
});

test("every RPC has a section with its path and idempotency level", () => {
  for (const { name, parent } of points.PointsService.methods) {
    expect(pointsPage).toContain(
      `\n### ${name}\n\n\`/${parent.typeName}/${name}\` (idempotency level \``,
    );
  }
});

test("every link leads to a heading, also on another page", () => {
  const links = [...pages].flatMap(([page, text]) =>
    [...text.matchAll(/\]\(([a-z]+\.md)?#([^)]+)\)/g)].map(
      ([, other = page, anchor]) => `${other}#${anchor}`,
    ),
  );
  expect(links.length).toBeGreaterThan(anchors.size);
  expect(links.filter((link) => !anchors.has(link))).toEqual([]);
  expect(pages.get("bulkgrants.md")).toContain("[Caller](access.md#caller)");
});

test("a field has its type and its rules", () => {
  expect(pointsPage).toContain("| `points` | int64 | 1 to 1,000,000,000 |");
  expect(pointsPage).toContain(
    "| `event_id` | string | 1 to 128 visible ASCII characters without # |",
  );
  expect(pointsPage).toMatch(
    /\| `event` \| \[EventName\]\(#eventname\) \| one of `key`, required \|/,
  );
});

test("the order of the files changes nothing", () => {
  expect([...apiReference(files.toReversed())]).toEqual([...pages]);
});
