/** Something that this program does not do, though the command line is well formed. Its code is a promise. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly code: `CLI_${string}`;

  constructor(code: Refusal['code'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
