/** Tests that wrong reactions, events, counts and notifications are found in a recorded run. */
import { test } from "vitest";
import { num, numbersByName, text } from "../../../src/store/dynamodb/sdk/attributes.ts";
import { at, found, type Run, refused } from "./recorded-run.ts";
import { type Case, expectFound } from "./spoiled-run.ts";

const target = ({ state }: Run) =>
  found(state.tables.reactions.find((item) => text(item, "sk") === "T"));
const likes = "R#post#p#like#0";

/** Takes an item of a table away. */
function drop(run: Run, table: "reactions" | "notifications", pk: string, sk: string): void {
  const items = run.state.tables[table];
  const index = items.findIndex((each) => text(each, "pk") === pk && text(each, "sk") === sk);
  at(items, index < 0 ? items.length : index);
  items.splice(index, 1);
}

const cases: Case[] = [
  [
    "a lost reaction",
    (run) => drop(run, "reactions", likes, "ann"),
    /reaction .*ann was made, and is lost/,
  ],
  [
    "a reaction that was taken back",
    ({ record }) => record.reactions.splice(2, 1),
    /reaction post#p#like bob was made, and is lost/,
  ],
  [
    "a reaction that is there after all",
    ({ record }) => {
      const last = at(record.reactions, 4);
      record.reactions.push({ ...last, request: { ...last.request, op: "unreact" } });
    },
    /reaction post#p#like cat was taken back, and is stored/,
  ],
  [
    "a reaction that nobody has sent",
    ({ record }) => record.reactions.splice(4, 1),
    /reaction post#p#like cat is stored, and nobody has sent it/,
  ],
  [
    "a refused reaction",
    ({ record }) => {
      at(record.reactions, 4).attempts = [refused(1, "LIMIT_EXCEEDED")];
    },
    /reaction post#p#like cat was refused/,
  ],
  [
    "two reactions with one version",
    (run) => {
      const [ann, cat] = ["ann", "cat"].map((userId) =>
        found(run.state.tables.reactions.find((each) => text(each, "sk") === userId)),
      );
      found(cat).n = { N: String(num(found(ann), "n")) };
    },
    /2 reactions have the version owner 1/,
  ],
  [
    "a wrong count",
    (run) => {
      target(run).k = numbersByName({ like: 3 });
    },
    /post#p counts 3 of like, and has 2/,
  ],
  [
    "a lost event",
    ({ state }) => {
      const isEvent = (item: Parameters<typeof text>[0]) => text(item, "i") === "e-1";
      const index = state.tables.reactions.findIndex(isEvent);
      state.tables.reactions.splice(index, 1);
    },
    /event e-1 was acknowledged, and is lost/,
  ],
  [
    "an event that is there after all",
    ({ record }) => {
      const back = at(record.events, 2);
      record.events.push({ ...back, request: { ...back.request, eventId: "e-1" } });
    },
    /event e-1 is there after all/,
  ],
  [
    "a doubled event",
    ({ state }) => {
      const { reactions } = state.tables;
      reactions.push(found(reactions.find((item) => text(item, "i") === "e-1")));
    },
    /event e-1 is stored 2 times/,
  ],
  [
    "a wrong notification",
    (run) => drop(run, "notifications", "I#owner", "U#like#post#p"),
    /notifications and their members/,
  ],
  [
    "a notification that was read",
    ({ record }) => {
      at(record.reads, 0).request.version = 100;
    },
    /owner like#post#p is unread from \d+, and was read to 100/,
  ],
];

test.each(cases)("%s is found", expectFound);
