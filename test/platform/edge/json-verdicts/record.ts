/** Records in verdicts.json what protobuf-go says of all inputs. */
import { writeFileSync } from "node:fs";
import { askProtobufGo } from "./ask.ts";
import { type Input, inputs } from "./inputs.ts";

const table: Record<string, Record<string, string | null>> = {};
for (const [i, verdict] of askProtobufGo(inputs).entries()) {
  const { message, json } = inputs[i] as Input;
  table[message.typeName] = { ...table[message.typeName], [json]: verdict };
}
writeFileSync(`${import.meta.dirname}/verdicts.json`, `${JSON.stringify(table, null, 1)}\n`);
