/** Reads lists of bulk grants and of pending uploads, and the rows of uploads by block. */
import {
  type AttributeValue,
  type DynamoDBClient,
  GetItemCommand,
  type QueryCommandInput,
} from "@aws-sdk/client-dynamodb";
import { type Item, S } from "../../../platform/dynamodb/sdk/attributes.ts";
import { orUnavailable } from "../../../platform/dynamodb/sdk/client.ts";
import { query } from "../../../platform/dynamodb/sdk/query-pages.ts";
import { activeIndex, byStateIndex, byTimeIndex } from "../../../platform/dynamodb/tables.ts";
import type { Window } from "../../../platform/ports/pages.ts";
import type { ProgramReader } from "../../../points/ports/programs.ts";
import {
  ruleChange,
  ruleChangeRange,
  ruleChangesKey,
} from "../../../points/store/codecs/rule-changes.ts";
import type { BulkGrantReader, Numbered } from "../../ports/bulk-grants.ts";
import {
  activeKey,
  blockCheck,
  blockNumber,
  blockOutcome,
  bulkGrant,
  bulkGrantNameOf,
  pendingUpload,
  pendingUploadsKey,
  rowsKey,
  stateKey,
  timeKey,
  uploadKey,
} from "../codecs/bulk-grants.ts";
import { decodeRows } from "../codecs/bulk-rows.ts";

export function bulkGrantReads(
  client: DynamoDBClient,
  bulk: string,
): BulkGrantReader & Pick<ProgramReader, "ruleChanges"> {
  const ofBlock = (pk: AttributeValue, prefix: string): QueryCommandInput => ({
    TableName: bulk,
    ConsistentRead: true,
    KeyConditionExpression: "pk = :p AND begins_with(sk, :s)",
    ExpressionAttributeValues: { ":p": pk, ":s": S(prefix) },
  });
  return {
    async bulkGrants({ programId, state, start, end }, page) {
      // DynamoDB refuses a range that ends before it starts.
      if (start !== undefined && end !== undefined && start >= end) return { items: [] };
      const [IndexName, hash, key] =
        state === undefined
          ? [byTimeIndex, "ip", programId]
          : [byStateIndex, "is", stateKey(programId, state)];
      return query(client, page, bulkGrant.decode, {
        TableName: bulk,
        IndexName,
        ScanIndexForward: false,
        KeyConditionExpression: "#h = :h AND ix BETWEEN :from AND :to",
        ExpressionAttributeNames: { "#h": hash },
        ExpressionAttributeValues: { ":h": S(key), ...rangeOf({ start, end }) },
      });
    },

    activeBulkGrants: (page) =>
      query(client, page, bulkGrantNameOf, {
        TableName: bulk,
        IndexName: activeIndex,
        KeyConditionExpression: "ia = :a",
        ExpressionAttributeValues: { ":a": activeKey },
      }),

    async rowsOfBlock(uploadId, block) {
      const command = new GetItemCommand({
        TableName: bulk,
        Key: rowsKey(uploadId, block),
        ConsistentRead: true,
      });
      const { Item: item } = await orUnavailable(client.send(command));
      return item ? decodeRows(item) : [];
    },

    blockChecks: (uploadId, page) =>
      query(client, page, numbered(blockCheck.decode), ofBlock(uploadKey(uploadId), "C#")),

    blockOutcomes: (uploadId, page) =>
      query(client, page, numbered(blockOutcome.decode), ofBlock(uploadKey(uploadId), "O#")),

    pendingUploads: (page) =>
      query(client, page, pendingUpload.decode, {
        TableName: bulk,
        ConsistentRead: true,
        KeyConditionExpression: "pk = :p",
        ExpressionAttributeValues: { ":p": pendingUploadsKey },
      }),

    ruleChanges: (programId, page) =>
      query(client, page, ruleChange.decode, {
        TableName: bulk,
        ConsistentRead: true,
        ScanIndexForward: false,
        KeyConditionExpression: "pk = :p AND sk BETWEEN :from AND :to",
        ExpressionAttributeValues: { ":p": ruleChangesKey(programId), ...ruleChangeRange },
      }),
  };
}

/** The range keys of a window. An id follows each time, so the end itself is not in the range. */
const rangeOf = ({ start, end }: Window): Item => ({
  ":from": S(timeKey(start ?? 0)),
  ":to": S(end === undefined ? "~" : timeKey(end)),
});

const numbered =
  <T>(decode: (item: Item) => T) =>
  (item: Item): Numbered<T> => ({ ...decode(item), block: blockNumber(item) });
