import type { RequestApproval } from '@holdpoint/contracts/approval/commands';
import type { Verb } from '@holdpoint/contracts/workflow/approval-policy';
import { policyOf, type Question, questionOf } from '@holdpoint/contracts/approval/question';
import type { InputOption, InputRequest } from '@holdpoint/contracts/workflow/input';
import { customId, type PressName } from './custom-id.ts';
import { formTextsOf } from './input-form.ts';
import { suggestedRule } from './suggested-rule.ts';
import { plain } from './text.ts';

type Button = {
  readonly type: 2;
  readonly style: number;
  readonly label: string;
  readonly custom_id: string;
};
export type Row = { readonly type: 1; readonly components: readonly Button[] };

const [BLUE, GREY, GREEN, RED] = [1, 2, 3, 4];

type Offer = readonly [press: PressName, label: string, style: number];

const ANSWERS: Readonly<Record<Exclude<Question, 'effect' | 'input'>, readonly Offer[]>> = {
  in_doubt: [
    ['did', 'It happened', GREEN],
    ['not', 'It did not happen', RED],
    ['again', 'Do it again', BLUE],
  ],
  stuck: [
    ['again', 'Try again', BLUE],
    ['skip', 'Skip', GREY],
    ['done', 'Mark as done', GREEN],
    ['end', 'Cancel', RED],
  ],
};

/** Discord's limits. */
const LABEL_MAX = 80;
const ROW_MAX = 5;

/**
 * One button per option. When a label is cut or not unique, all labels get the numbers of the list in the
 * message.
 */
const optionOffers = (options: readonly InputOption[]): readonly Offer[] => {
  const whole = options.map(({ label }) => plain(label, Infinity));
  const isClear = new Set(whole).size === whole.length && whole.every((label) => label.length <= LABEL_MAX);
  return options.map(({ label }, i) => [
    `pick${i}`,
    plain(isClear ? label : `${String(i + 1)}. ${label}`, LABEL_MAX),
    GREY,
  ]);
};

const inRows = (offers: readonly Offer[]): readonly (readonly Offer[])[] =>
  Array.from({ length: Math.ceil(offers.length / ROW_MAX) }, (_, i) =>
    offers.slice(i * ROW_MAX, (i + 1) * ROW_MAX),
  );

const inputRows = (input: InputRequest): readonly (readonly Offer[])[] => {
  switch (input.kind) {
    case 'approval':
      return [
        [
          ['ok', 'Yes', GREEN],
          ['no', 'No', RED],
        ],
      ];
    case 'choice':
      return inRows(optionOffers(input.options));
    case 'text':
      return [[['in?', 'Answer…', BLUE]]];
    case 'form':
      // The message names the command to use instead.
      return formTextsOf(input) === undefined ? [] : [[['in?', 'Fill in…', BLUE]]];
  }
};

const effectRows = (request: RequestApproval): readonly (readonly Offer[])[] => {
  const { decisions } = policyOf(request);
  const may = (choice: Verb): boolean => decisions.includes(choice);
  return [
    [
      ...(may('approve') ? [['ok', 'Approve', GREEN] as const] : []),
      ...(may('reject') ? [['no', 'Reject', RED] as const] : []),
    ],
    [
      ...(may('request_changes') ? [['chg?', 'Request changes…', GREY] as const] : []),
      ...(may('reject') ? [['no?', 'Reject with reason…', GREY] as const] : []),
      ...(suggestedRule(request) === undefined ? [] : [['keep', 'Approve and remember', GREY] as const]),
    ],
  ];
};

const rowsOf = (request: RequestApproval): readonly (readonly Offer[])[] => {
  if (request.input !== undefined) return inputRows(request.input);
  const question = questionOf(request);
  return question === 'in_doubt' || question === 'stuck' ? [ANSWERS[question]] : effectRows(request);
};

/** The buttons below a request; none when its id is too long for them. */
export const buttonsOf = (request: RequestApproval, token: string): readonly Row[] => {
  const offered = rowsOf(request).filter((row) => row.length > 0);
  const rows = offered.map((row) =>
    row.flatMap(([press, label, style]): readonly Button[] => {
      const id = customId(press, { ...request, token });
      return id === undefined ? [] : [{ type: 2, style, label, custom_id: id }];
    }),
  );
  const hasRoom = rows.flat().length === offered.flat().length;
  return hasRoom ? rows.map((components) => ({ type: 1, components })) : [];
};
