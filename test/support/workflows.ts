/** The workflows that tests bundle: those of production, with shorter waits. */
import "./shorter-timing.ts";

export * from "../../workflows/index.ts";
