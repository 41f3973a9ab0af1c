/** Tests through gRPC the list of the targets that an owner has muted. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { createOwner, type Owner } from "../../../support/fixtures/owners.ts";
import { allResponses } from "../../../support/fixtures/pages.ts";
import { refusalOf } from "../../../support/servers/refusal.ts";
import { startServer, type TestServer } from "../../../support/servers/server.ts";
import { dump } from "../../../support/stores/dump.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startServer({ testClock: false });
});
afterAll(() => server.stop());

async function mutedBy({ ownerId }: Owner, pageSize: number) {
  const pages = await allResponses((pageToken) =>
    server.notifications.listMutedTargets({ ownerId, pageSize, pageToken }),
  );
  for (const { targets } of pages) expect(targets.length).toBeLessThanOrEqual(pageSize);
  return pages.flatMap(({ targets }) => targets.map(({ title, muted }) => [title, muted]));
}

test("muted targets are listed by id, in pages, until they are not muted any more", async () => {
  const [owner, other] = [createOwner(server), createOwner(server)];
  await owner.register("c", "a", "b", "d", "e");
  await other.register("a");
  expect(await mutedBy(owner, 2)).toEqual([]);
  for (const id of ["c", "a", "d", "e"]) await owner.mute(id, true);
  await other.mute("a", true);
  await owner.mute("c", true);
  await owner.mute("d", false);
  for (const pageSize of [1, 2, 50]) {
    expect(await mutedBy(owner, pageSize)).toEqual([
      ["a", true],
      ["c", true],
      ["e", true],
    ]);
  }
  await owner.mute("a", false);
  await owner.mute("a", true);
  expect(await mutedBy(owner, 50)).toHaveLength(3);
});

test("a deleted target is not listed, and nothing of its mute is left", async () => {
  const owner = createOwner(server);
  await owner.register("x", "y");
  await owner.mute("x", true);
  await owner.mute("y", true);
  await server.reactions.deleteTarget({ targetName: owner.target("x") });
  expect(await mutedBy(owner, 1)).toEqual([["y", true]]);
  const stored = (await dump(server)).filter((item) => item.includes(`T#${owner.ownerId}`));
  expect(stored).toHaveLength(1);
});

test("a page_token belongs to one owner", async () => {
  const owner = createOwner(server);
  await owner.register("x", "y");
  await owner.mute("x", true);
  await owner.mute("y", true);
  const request = { ownerId: owner.ownerId, pageSize: 1 };
  const { nextPageToken: pageToken } = await server.notifications.listMutedTargets(request);
  const call = server.notifications.listMutedTargets({ ...request, ownerId: "other", pageToken });
  expect(await refusalOf(call)).toMatchObject({ fields: ["page_token"] });
});
