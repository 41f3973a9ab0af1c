/** Compares docs/call/events.md and its examples with the contract; a soak runs its programs. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { DescFile } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { toCloudEvent } from "../../src/events/published/cloud-event.ts";
import { eventTypes } from "../../src/events/rules/event-types.ts";
import { EventService } from "../../src/gen/meguri/events/v1/event_service_pb.ts";
import { eventsByType } from "../support/fixtures/events.ts";
import { codeNamed, projectRoot } from "../support/markdown.ts";

const page = "docs/call/events.md";
const read = (file: string) => readFileSync(join(projectRoot, file), "utf8");

/** A file and all that it imports, but for those that come with Protobuf. */
function filesOf(file: DescFile, found = new Set<string>()): Set<string> {
  if (file.proto.name.startsWith("google/protobuf/")) return found;
  found.add(file.proto.name);
  for (const imported of file.dependencies) filesOf(imported, found);
  return found;
}

test("the examples are one event of each type", () => {
  const lines = eventTypes.map((type) => {
    const event = eventsByType.get(type);
    if (!event) throw new Error(`there is no example of ${type}`);
    return `${JSON.stringify(toCloudEvent(event))}\n`;
  });
  expect(read("docs/call/event-examples.ndjson")).toBe(lines.join(""));
});

test("the table has every type", () => {
  const [, table = ""] = read(page).split("## Types\n");
  const [rows = ""] = table.split("\n## ");
  const named = [...rows.matchAll(/^\| (`.+?) \|/gm)].flatMap(([, cell = ""]) => {
    const [first = "", ...others] = [...cell.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name);
    const family = first.slice(0, first.indexOf("."));
    return [first, ...others.map((name) => family + name)];
  });
  expect(named.toSorted()).toEqual([...eventTypes].toSorted());
});

test("Python's protoc gets every file that the service of events needs", () => {
  const named = codeNamed(page, "pyeventsetup").match(/[\w/]+\.proto\b/g) ?? [];
  expect(named.toSorted()).toEqual([...filesOf(EventService.file)].toSorted());
});
