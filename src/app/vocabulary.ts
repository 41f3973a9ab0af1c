/** What callers of the use cases need of the domain, to ask and to show the answer. */
export { formatMonth } from "../domain/month.ts";
export {
  defaultLifetime,
  defaultProgramId,
  defaultZone,
  lifetimeAt,
} from "../domain/program.ts";
export { defaultKind } from "../domain/reaction.ts";
