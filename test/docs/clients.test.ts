/** Compares docs/call/clients.md with the contract; a soak, client-languages, runs its examples. */
import type { DescFile } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { PointsService } from "../../src/gen/meguri/points/v1/points_service_pb.ts";
import { codeNamed } from "../support/markdown.ts";

/** A file and all that it imports, but for those that come with Protobuf. */
function filesOf(file: DescFile, found = new Set<string>()): Set<string> {
  if (file.proto.name.startsWith("google/protobuf/")) return found;
  found.add(file.proto.name);
  for (const imported of file.dependencies) filesOf(imported, found);
  return found;
}

test("Python's protoc gets every file that the service of points needs", () => {
  const named = codeNamed("docs/call/clients.md", "pysetup").match(/[\w/]+\.proto\b/g) ?? [];
  expect(named.sort()).toEqual([...filesOf(PointsService.file)].sort());
});
