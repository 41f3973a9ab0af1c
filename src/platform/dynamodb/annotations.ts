/** How the annotations of a change are stored, in every item that has them. */
import type { Annotations } from "../words/annotations.ts";
import { type Fields, optional, text, unless } from "./fields.ts";

export const annotations: Fields<Annotations> = {
  reason: unless("", "r", text),
  cause: optional("o", text),
};
