/** The JSON texts whose verdicts are recorded: every value of these for every field of these. */
import type { DescMessage } from "@bufbuild/protobuf";
import { SubmitBulkGrantRequestSchema } from "../../../../src/gen/meguri/bulkgrants/v1/bulk_grant_service_pb.ts";
import { HoldPointsRequestSchema } from "../../../../src/gen/meguri/holds/v1/hold_service_pb.ts";
import {
  GetLedgerEntryRequestSchema,
  GrantPointsRequestSchema,
  ListLedgerEntriesRequestSchema,
} from "../../../../src/gen/meguri/points/v1/points_service_pb.ts";
import { UpdateProgramRequestSchema } from "../../../../src/gen/meguri/programs/v1/program_service_pb.ts";
import { ReactRequestSchema } from "../../../../src/gen/meguri/reactions/v1/reaction_service_pb.ts";
import {
  BatchCreateReservationsRequestSchema,
  ListReservationsRequestSchema,
} from "../../../../src/gen/meguri/reservations/v1/reservation_service_pb.ts";

/** A field of every kind that requests have. */
const fields: readonly (readonly [DescMessage, string])[] = [
  [GrantPointsRequestSchema, "userId"],
  [GrantPointsRequestSchema, "points"],
  [GrantPointsRequestSchema, "validateOnly"],
  [ListReservationsRequestSchema, "pageSize"],
  [ListReservationsRequestSchema, "state"],
  [ListReservationsRequestSchema, "executeTimeFrom"],
  [ListLedgerEntriesRequestSchema, "types"],
  [GetLedgerEntryRequestSchema, "number"],
  [GetLedgerEntryRequestSchema, "event"],
  [HoldPointsRequestSchema, "expiredPointsPolicy"],
  [ReactRequestSchema, "coolDown"],
  [ReactRequestSchema, "targetName"],
  [SubmitBulkGrantRequestSchema, "csv"],
  [UpdateProgramRequestSchema, "updateMask"],
  [BatchCreateReservationsRequestSchema, "reservations"],
];

const numbers = [
  ...[
    "0",
    "-0",
    "1",
    "-1",
    "1.0",
    "1.5",
    "-2.50",
    "1e2",
    "1E+2",
    "1.25e2",
    "100e-2",
    "1e-2",
    "1e400",
    "1e-400",
    "100.00000000000000001",
    "0.0",
    "1e0",
  ],
  ...["2147483647", "2147483648", "-2147483648", "-2147483649", "9007199254740991"],
  ...["9007199254740993", "9223372036854775807", "9223372036854775808", "-9223372036854775808"],
  ...[
    "-9223372036854775809",
    "1e18",
    "9.223372036854775807e18",
    "1e19",
    "123456789012345678901234567890",
  ],
  ...[
    "01",
    "+1",
    ".5",
    "1.",
    "0x10",
    "0b1",
    "0o7",
    "1_000",
    "1,000",
    "1 000",
    "1e",
    "--1",
    "Infinity",
    "NaN",
  ],
];

const texts = [
  ...[
    "",
    " ",
    " 1",
    "1 ",
    "\\t1",
    "1\\n",
    "\\u00a01",
    "１",
    "٣",
    "1n",
    "abc",
    "あ",
    "null",
    "true",
  ],
  ...[
    "\\ud83d\\ude00",
    "\\ud83d",
    "\\ude00",
    "\\ude00\\ud83d",
    "a\\ud800b",
    "\\u0000",
    "\\/",
    "\\x",
    "\\u12",
  ],
  ...[
    "YQ==",
    "YQ",
    "YQ=",
    "Y",
    "YR==",
    "YWI=",
    "YWI",
    "YWJj",
    "YWJj=",
    "YQ==\\n",
    "YW\\r\\nJj",
    "Y Q==",
  ],
  ...["-_-_", "+/+/", "+_+_", "=", "====", "YQ==YQ=="],
  ...[
    "1.5s",
    "1s",
    "-1.5s",
    "+1s",
    "0.000000001s",
    "1.0000000001s",
    "1.s",
    ".5s",
    "1",
    "1S",
    "1 s",
    "01s",
  ],
  ...["1sx", "-0.5s", "315576000000s", "315576000001s", "-315576000000s", "1e2s", "9999999999999s"],
  ...["a", "a.b", "aB", "a_b", "a,b", "a,", ",a", "A", "a..b", "a b", "timeZone,lifetimeMonths"],
  ...[
    "STATE_UNSPECIFIED",
    "PENDING",
    "pending",
    "PENDING ",
    "TYPE_UNSPECIFIED",
    "GRANT",
    "ORIGINAL_EXPIRY",
  ],
];

const times = [
  ...[
    "2027-02-28T00:00:00Z",
    "2027-02-29T00:00:00Z",
    "2028-02-29T00:00:00Z",
    "2100-02-29T00:00:00Z",
  ],
  ...[
    "2000-02-29T00:00:00Z",
    "2027-04-31T00:00:00Z",
    "2027-12-31T23:59:59Z",
    "2027-12-32T00:00:00Z",
  ],
  ...[
    "2027-00-10T00:00:00Z",
    "2027-13-01T00:00:00Z",
    "2027-01-00T00:00:00Z",
    "2027-01-01T24:00:00Z",
  ],
  ...[
    "2027-01-01T23:60:00Z",
    "2027-01-01T23:59:60Z",
    "2016-12-31T23:59:60Z",
    "2027-1-01T00:00:00Z",
  ],
  ...[
    "2027-01-01t00:00:00z",
    "2027-01-01 00:00:00Z",
    "2027-01-01T00:00:00",
    "2027-01-01",
    "20270101T000000Z",
  ],
  ...[
    "2027-01-01T00:00Z",
    "2027-01-01T00:00:00.Z",
    "2027-01-01T00:00:00.1Z",
    "2027-01-01T00:00:00,1Z",
  ],
  ...[
    "2027-01-01T00:00:00.123456789Z",
    "2027-01-01T00:00:00.1234567891Z",
    "2027-01-01T00:00:00+09:00",
  ],
  ...["2027-01-01T00:00:00+0900", "2027-01-01T00:00:00+09", "2027-01-01T00:00:00+24:00"],
  ...["2027-01-01T00:00:00-23:59", "2027-01-01T00:00:00+09:60", "2027-01-01T00:00:00+00:00"],
  ...[
    "2027-01-01T00:00:00-00:00",
    "2027-01-01T00:00:00Z ",
    "0001-01-01T00:00:00Z",
    "0000-12-31T23:59:59Z",
  ],
  ...["0001-01-01T00:00:00+00:01", "9999-12-31T23:59:59.999999999Z", "9999-12-31T23:59:59-00:01"],
  ...[
    "10000-01-01T00:00:00Z",
    "+02027-01-01T00:00:00Z",
    "2027-01-01T00:00:00[UTC]",
    "２０２７-01-01T00:00:00Z",
  ],
];

const structures = [
  ...[
    "null",
    "true",
    "false",
    "[]",
    "{}",
    "[null]",
    "[1]",
    '["a"]',
    "[[]]",
    "[{}]",
    '{"a":1}',
    "[{},null]",
  ],
  ...[
    '{"number":"1"}',
    '{"userId":"u","eventId":"e"}',
    '{"type":"post","id":"1"}',
    '[{"points":"1e2"}]',
  ],
  ...[
    '[{"points":" 1"}]',
    '[{"userId":null}]',
    '[{"userId":"a","user_id":"b"}]',
    '[{"x":1}]',
    '["GRANT",1,99]',
  ],
];

const values = [
  ...numbers,
  ...[...numbers, ...texts, ...times].map((text) => `"${text}"`),
  ...structures,
];

/** Whole requests. */
const bodies: readonly (readonly [DescMessage, string])[] = [
  ...[
    ...[
      "",
      " ",
      "null",
      "[]",
      "{}",
      " {} ",
      "{} {}",
      "{},",
      "{",
      '"a"',
      "1",
      "\ufeff{}",
      "// a\n{}",
      "{/**/}",
    ],
    ...[
      '{"userId":"a",}',
      "{'userId':'a'}",
      '{userId:"a"}',
      '{"userId":"a","userId":"a"}',
      '{"userId":"a\u0001"}',
    ],
    ...[
      '{"userId":"a","user_id":"b"}',
      '{"user_id":"b"}',
      '{"userId":null,"user_id":"b"}',
      '{"user\\u0049d":"a"}',
    ],
    ...[
      '{"userId":"a","user\\u0049d":"b"}',
      '{"x":1}',
      '{"x":null}',
      '{"__proto__":{}}',
      '{"constructor":1}',
    ],
    ...[
      '{"UserId":"a"}',
      '{"userid":"a"}',
      '{"points":1,"points":2}',
      '{"points":" ","points":2}',
      '{"\\ud800":1}',
    ],
  ].map((json) => [GrantPointsRequestSchema, json] as const),
  ...[
    ...[
      '{"number":"1","event":null}',
      '{"number":null,"event":{"userId":"u"}}',
      '{"number":"1","event":{}}',
    ],
    ...[
      '{"number":null,"event":null}',
      '{"number":"1","number":null}',
      '{"event":null,"event":{}}',
    ],
    ...['{"event":{"eventId":null}}', '{"event":null,"points":1}', '{"event":{},"number":null}'],
  ].map((json) => [GetLedgerEntryRequestSchema, json] as const),
  ...[
    '{"userId":"u","state":null}',
    '{"state":"PENDING","userId":null}',
    '{"state":null,"state":null}',
  ].map((json) => [ListReservationsRequestSchema, json] as const),
];

export interface Input {
  readonly message: DescMessage;
  readonly json: string;
}

export const inputs: readonly Input[] = [
  ...fields.flatMap(([message, name]) =>
    values.map((value) => ({ message, json: `{"${name}":${value}}` })),
  ),
  ...bodies.map(([message, json]) => ({ message, json })),
];
