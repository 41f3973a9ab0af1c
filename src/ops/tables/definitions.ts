/** The definitions of all tables, read from deploy/tables.yaml. */
import { readFileSync } from "node:fs";
import type { CreateTableCommandInput } from "@aws-sdk/client-dynamodb";
import { usesLocalCredentials } from "../../platform/dynamodb/sdk/client.ts";
import type { Table, TableName } from "../../platform/dynamodb/tables.ts";
import { readTemplate } from "./template.ts";

const file = `${import.meta.dirname}/../../../deploy/tables.yaml`;

export interface TableDefinition {
  /** The input that creates the table, without the settings that DynamoDB enables afterwards. */
  readonly create: CreateTableCommandInput & { readonly TableName: string };
  /** The attribute with the time, in seconds, after which DynamoDB deletes an item. */
  readonly ttlAttribute: string | undefined;
  /** Whether the table keeps continuous backups. Undefined: it does not matter. */
  readonly hasPointInTimeRecovery: boolean | undefined;
}

/** The properties of the template. CreateTable takes all but two of them in the same form. */
interface Properties extends CreateTableCommandInput {
  readonly TableName: Table;
  readonly TimeToLiveSpecification?: { readonly AttributeName: string };
  readonly PointInTimeRecoverySpecification?: { readonly PointInTimeRecoveryEnabled: boolean };
}

/** Returns the definitions of all tables, with the template's own values of its parameters. */
export function tableDefinitions(names: TableName): TableDefinition[] {
  const template = readFileSync(file, "utf8");
  // The prefix is part of `names`.
  return readTemplate(template, { TablePrefix: "" }).map((properties) => {
    const {
      TimeToLiveSpecification: ttl,
      PointInTimeRecoverySpecification: backups,
      StreamSpecification: stream,
      ...create
    } = properties as unknown as Properties;
    return {
      create: {
        ...create,
        TableName: names(create.TableName),
        ...(stream && { StreamSpecification: { ...stream, StreamEnabled: true } }),
      },
      ttlAttribute: ttl?.AttributeName,
      hasPointInTimeRecovery: backups?.PointInTimeRecoveryEnabled,
    };
  });
}

/**
 * The same for DynamoDB Local, whose tables have nothing that is worth protecting: without backups,
 * which it does not know, and without a protection against deletion.
 */
export const localTableDefinitions = (names: TableName): TableDefinition[] =>
  tableDefinitions(names).map(({ create, ttlAttribute }) => {
    const { DeletionProtectionEnabled: _, ...rest } = create;
    return { create: rest, ttlAttribute, hasPointInTimeRecovery: undefined };
  });

/** The definitions for the store at an endpoint. */
export const definitionsFor = (
  endpoint: string | undefined,
  names: TableName,
): TableDefinition[] =>
  usesLocalCredentials(endpoint) ? localTableDefinitions(names) : tableDefinitions(names);
