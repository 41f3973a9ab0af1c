/** The scenarios of the audited methods about bulk grants. */
import { expect } from "vitest";
import {
  completeCheck,
  completeRun,
  endMessage,
  headerMessage,
  rowsMessage,
} from "../fixtures/bulk-grant-calls.ts";
import type { TestServer } from "../servers/server.ts";
import { changed, programId, reason, type Scenario } from "./scenario.ts";

const rows = [{ userId: "u1", points: 5n }];
const content = { case: "rows", value: { rows } } as const;
const noBulk = { programId, bulkGrantId: "missing" };

/** The object of an act, and some of its changes. */
const bulk = (objectId: string, changes: object[]) => ({
  ...{ objectType: "bulk_grant", objectId, userId: "" },
  changes: expect.arrayContaining(changes.map((change) => expect.objectContaining(change))),
});

async function* upload(bulkGrantId: string, program = programId) {
  yield headerMessage({ programId: program, bulkGrantId });
  yield rowsMessage(rows);
  yield endMessage;
}

const submissionScenarios = ({ points }: TestServer): Readonly<Record<string, Scenario>> => ({
  UploadBulkGrant: {
    call: ({ bulkGrants }, options) => bulkGrants.uploadBulkGrant(upload("upload"), options),
    refused: ({ bulkGrants }) => bulkGrants.uploadBulkGrant(upload("upload", "none")),
    act: bulk("upload", [changed("state", "", "VALIDATING"), changed("points", "", "5")]),
  },
  SubmitBulkGrant: {
    call: ({ bulkGrants }, options) =>
      bulkGrants.submitBulkGrant({ programId, bulkGrantId: "submit", content }, options),
    refused: ({ bulkGrants }) =>
      bulkGrants.submitBulkGrant({ programId: "none", bulkGrantId: "submit", content }),
    act: bulk("submit", [changed("revision", "", "1"), changed("rows", "", "1")]),
  },
  RequestGrant: {
    call: ({ bulkGrants }, options) =>
      bulkGrants.requestGrant(
        { programId, bulkGrantId: "request", userId: "u1", points: 5n, reason },
        options,
      ),
    refused: ({ bulkGrants }) =>
      bulkGrants.requestGrant({
        ...{ programId: "none", bulkGrantId: "request", userId: "u1", points: 5n },
      }),
    act: { ...bulk("request", [changed("points", "", "5")]), userId: "u1", reason },
  },
  RequestRevoke: {
    prepare: () => points.grantPoints({ programId, userId: "u1", eventId: "e", points: 5n }),
    call: ({ bulkGrants }, options) =>
      bulkGrants.requestRevoke(
        {
          ...{ programId, bulkGrantId: "revoke", userId: "u1", reason },
          grantEvent: { eventId: "e" },
        },
        options,
      ),
    refused: ({ bulkGrants }) =>
      bulkGrants.requestRevoke({
        ...{ programId, bulkGrantId: "revoke", userId: "u1", grantEvent: { eventId: "none" } },
      }),
    act: { ...bulk("revoke", [changed("points", "", "5")]), userId: "u1", reason },
  },
});

/** What people have done with a bulk grant before a call. */
function stepsOf(server: TestServer) {
  const submit = async (bulkGrantId: string, userId = "u1") => {
    const value = { rows: [{ userId, points: 5n }] };
    const request = { programId, bulkGrantId, content: { case: "rows", value } as const };
    await server.bulkGrants.submitBulkGrant(request);
    return completeCheck(server, bulkGrantId, programId);
  };
  const approved = (bulkGrantId: string, userId?: string) => async () => {
    const { digest } = await submit(bulkGrantId, userId);
    const { bulkGrants } = server.clientsOf("ben");
    await bulkGrants.approveBulkGrant({ programId, bulkGrantId, digest });
  };
  const ran = (bulkGrantId: string) => async () => {
    await approved(bulkGrantId)();
    await completeRun(server, bulkGrantId, programId);
  };
  return { submit, approved, ran };
}

function decisionScenarios(server: TestServer): Readonly<Record<string, Scenario>> {
  const { submit, approved, ran } = stepsOf(server);
  let digest = "";
  return {
    ApproveBulkGrant: {
      prepare: async () => {
        ({ digest } = await submit("approve"));
      },
      call: ({ bulkGrants }, options) =>
        bulkGrants.approveBulkGrant({ programId, bulkGrantId: "approve", digest, reason }, options),
      refused: ({ bulkGrants }) =>
        bulkGrants.approveBulkGrant({ ...noBulk, digest: "d".repeat(43) }),
      act: {
        ...bulk("approve", [
          changed("state", "AWAITING_APPROVAL", "APPROVED"),
          changed("approvals", "0", "1"),
        ]),
        reason,
      },
    },
    RejectBulkGrant: {
      prepare: () => submit("reject"),
      call: ({ bulkGrants }, options) =>
        bulkGrants.rejectBulkGrant({ programId, bulkGrantId: "reject" }, options),
      refused: ({ bulkGrants }) => bulkGrants.rejectBulkGrant(noBulk),
      act: bulk("reject", [changed("state", "AWAITING_APPROVAL", "REJECTED")]),
    },
    CancelBulkGrant: {
      prepare: () => submit("cancel"),
      call: ({ bulkGrants }, options) =>
        bulkGrants.cancelBulkGrant({ programId, bulkGrantId: "cancel" }, options),
      refused: ({ bulkGrants }) => bulkGrants.cancelBulkGrant(noBulk),
      act: bulk("cancel", [changed("state", "AWAITING_APPROVAL", "CANCELLED")]),
    },
    PauseBulkGrant: {
      prepare: approved("pause"),
      call: ({ bulkGrants }, options) =>
        bulkGrants.pauseBulkGrant({ programId, bulkGrantId: "pause" }, options),
      refused: ({ bulkGrants }) => bulkGrants.pauseBulkGrant(noBulk),
      act: bulk("pause", [changed("paused", "false", "true")]),
    },
    ResumeBulkGrant: {
      call: ({ bulkGrants }, options) =>
        bulkGrants.resumeBulkGrant({ programId, bulkGrantId: "pause" }, options),
      refused: ({ bulkGrants }) => bulkGrants.resumeBulkGrant(noBulk),
      act: bulk("pause", [changed("paused", "true", "false")]),
    },
    RetryBulkGrant: {
      prepare: async () => {
        await approved("retry", "cold")();
        await server.points.freezeAccount({ programId, userId: "cold", eventId: "f" });
        await completeRun(server, "retry", programId);
      },
      call: ({ bulkGrants }, options) =>
        bulkGrants.retryBulkGrant({ programId, bulkGrantId: "retry" }, options),
      refused: ({ bulkGrants }) => bulkGrants.retryBulkGrant(noBulk),
      act: bulk("retry", [changed("state", "DONE_WITH_FAILURES", "RUNNING")]),
    },
    ReverseBulkGrant: {
      prepare: ran("granted"),
      call: ({ bulkGrants }, options) =>
        bulkGrants.reverseBulkGrant(
          { programId, bulkGrantId: "undo", reversedBulkGrantId: "granted", reason },
          options,
        ),
      refused: ({ bulkGrants }) =>
        bulkGrants.reverseBulkGrant({ ...noBulk, reversedBulkGrantId: "missing" }),
      act: { ...bulk("undo", [changed("state", "", "VALIDATING")]), reason },
    },
  };
}

export const bulkGrantScenarios = (server: TestServer): Readonly<Record<string, Scenario>> => ({
  ...submissionScenarios(server),
  ...decisionScenarios(server),
});
