/** Reads acts by their day, by their subject or by the user, the newest first. */
import type { AttributeValue, DynamoDBClient, QueryCommandInput } from "@aws-sdk/client-dynamodb";
import { type Item, S, text } from "../../../platform/dynamodb/sdk/attributes.ts";
import { query } from "../../../platform/dynamodb/sdk/query-pages.ts";
import { bySubjectIndex, byUserIndex } from "../../../platform/dynamodb/tables.ts";
import { timeKey } from "../../../platform/dynamodb/time-keys.ts";
import type { PageRequest, Window } from "../../../platform/ports/pages.ts";
import type { ActPage, ActReader } from "../../ports/deps.ts";
import type { Act } from "../../rules/act.ts";
import { act, dayKey, subjectKey, userKey } from "../codecs/acts.ts";

export function actReads(client: DynamoDBClient, TableName: string): ActReader {
  async function list(
    page: PageRequest,
    input: Omit<QueryCommandInput, "TableName">,
  ): Promise<ActPage> {
    const newestFirst = { TableName, ScanIndexForward: false, ...input };
    const { items, ...rest } = await query(client, page, storedAct, newestFirst);
    return {
      ...rest,
      items: items.flatMap((each) => (typeof each === "string" ? [] : [each])),
      unreadable: items.filter((each) => typeof each === "string"),
    };
  }
  return {
    actsOfDay: (programId, day, window, page) =>
      list(page, { ConsistentRead: true, ...inWindow("pk", dayKey(programId, day), window) }),

    actsOfSubject: (programId, subject, window, page) =>
      list(page, {
        IndexName: bySubjectIndex,
        ...inWindow("is", subjectKey(programId, subject), window),
      }),

    actsAboutUser({ programId, userId }, subject, window, page) {
      const found = inWindow("iu", userKey(programId, userId), window);
      const input = { IndexName: byUserIndex, ...found };
      if (subject === undefined) return list(page, input);
      return list(page, {
        ...input,
        FilterExpression: "#s = :s",
        ExpressionAttributeNames: { ...found.ExpressionAttributeNames, "#s": "is" },
        ExpressionAttributeValues: {
          ...found.ExpressionAttributeValues,
          ":s": S(subjectKey(programId, subject)),
        },
      });
    },
  };
}

/** The act of an item, or its key if it cannot be read, so that it hides no other. */
const storedAct = (item: Item): Act | string =>
  isWhole(item) ? act.decode(item) : `${text(item, "pk")} ${text(item, "sk")}`;

/** The codec reads what is missing, or of another type, as empty. */
function isWhole({ w, ws, y, m, o, i, c, r }: Item): boolean {
  const isText = (value: AttributeValue | undefined) => value?.S !== undefined;
  const isChange = ({ L: [field, before, after] = [] }: AttributeValue) =>
    [field, before, after].every(isText);
  return (
    [w, m, o, i].every(isText) &&
    [ws, r].every((value) => !value || isText(value)) &&
    (!y || y.BOOL !== undefined) &&
    (!c || c.L?.every(isChange) === true)
  );
}

/** In a range key `#` and the id of a request follow the time, so a bare time is before them. */
const inWindow = (hash: string, key: string, { start, end }: Window) => ({
  KeyConditionExpression: "#h = :h AND sk BETWEEN :from AND :to",
  ExpressionAttributeNames: { "#h": hash },
  ExpressionAttributeValues: {
    ":h": { S: key },
    ":from": { S: timeKey(start ?? 0) },
    ":to": { S: end === undefined ? "~" : timeKey(end) },
  },
});
