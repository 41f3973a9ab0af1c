/** The dependencies of what falls due: the ports that the composition root fills. */
import type * as points from "../../points/ports/deps.ts";
import type { DueHours, DueReader } from "./due.ts";

export interface Reader extends points.Reader, DueReader {}

export interface Deps extends points.Deps {
  readonly dueHours: DueHours;
  readonly reader: Reader;
}
