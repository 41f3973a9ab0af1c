/** Reads the members of groups, most of them for the decisions of calls. */
import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import type { MemberReader } from "../../ports/notifications.ts";
import { isEventKind } from "../../rules/kinds.ts";
import { lookUpEventSplit } from "../event-lookups.ts";
import { memberQueries } from "../group-members.ts";
import { lookUpRefill, lookUpSplit } from "../member-lookups.ts";

/** Reads by `client`, which sends each request once. */
export function memberReads(client: DynamoDBClient, reactions: string): MemberReader {
  const queries = memberQueries(client, reactions);
  return {
    membersAfter: queries.membersAfter,
    split(seen, version) {
      const lookUp = isEventKind(seen.group.kind) ? lookUpEventSplit : lookUpSplit;
      return lookUp({ ...seen, queries }, version);
    },
    refill: (seen, version) => lookUpRefill({ ...seen, queries }, version),
  };
}
