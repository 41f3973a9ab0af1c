/** Tests that a group shows the names of now, although its members were read before. */
import { describe, expect, test, vi } from "vitest";
import type { Deps } from "../../../src/hub/deps.ts";
import { isolations } from "../../support/fixtures/account-fixture.ts";
import {
  afterwards,
  fakeEngineTime,
  like,
  reactionFixturesIn,
  read,
  refs,
  unlike,
} from "../../support/fixtures/reaction-fixture.ts";
import { settled } from "../../support/fixtures/settled.ts";

// The engine's pauses use the global timers, which are faked.
vi.mock("node:timers/promises", () => ({
  setTimeout: (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms)),
}));

fakeEngineTime();

describe.each(isolations)("a group with another name, applied %s", (isolation) => {
  const createFixture = reactionFixturesIn(isolation);
  const likers = ["a", "b", "c", "d", "e", "f", "g"];

  /** The names that the unread group shows, earliest and latest ones. */
  async function namesOf({ reader }: Deps) {
    const group = (await reader.get(refs.group))?.value;
    const all = [group?.firstMembers ?? [], group?.latestMembers ?? []];
    return all.map((members) => members.map(({ displayName }) => displayName));
  }

  test("in the place of one who leaves in the same batch", async () => {
    const { deps, coalesced } = await createFixture(...likers);
    await coalesced(deps, () => [like(deps, "c", "Cy"), afterwards(() => unlike(deps, "a"))]);
    expect(await namesOf(deps)).toEqual([
      ["B", "Cy"],
      ["G", "F", "E"],
    ]);
  });

  test("in the place of one who leaves while another process renames", async () => {
    const { deps, process, once } = await createFixture(...likers);
    once("commit", () => like(process(), "c", "Cy"));
    await settled(unlike(deps, "a"));
    expect(await namesOf(deps)).toEqual([
      ["B", "Cy"],
      ["G", "F", "E"],
    ]);
  });

  test.each([
    ["not shown", "d", ["Name", "E"], ["G", "F", "E"]],
    ["shown", "e", ["D", "Name"], ["G", "F", "Name"]],
  ])("of one who was %s, at the beginning of what is not read", async (_, userId, ...names) => {
    const { deps, process, once } = await createFixture(...likers);
    once("commit", () => like(process(), userId, "Name"));
    await settled(read(deps, 3));
    expect(await namesOf(deps)).toEqual(names);
  });

  test("among what is read", async () => {
    const { deps, process, once } = await createFixture(...likers);
    once("commit", () => like(process(), "c", "Cy"));
    await settled(read(deps, 4));
    const history = await deps.reader.readGroups("owner", 0, { size: 1, cursor: undefined });
    const names = history.items[0]?.latestMembers.map(({ displayName }) => displayName);
    expect(names).toEqual(["D", "Cy", "B"]);
  });
});
