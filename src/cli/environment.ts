/**
 * The only door to the process's environment variables. Configuration asks for a variable by name; nothing reads them
 * all, but for telling which values must never be written anywhere.
 */

export interface Environment {
  /** Undefined where it is not set, or set to nothing. */
  variable(name: string): string | undefined;
  /** The values of variables whose names say that they are secret. */
  secrets(): readonly string[];
}

const SECRET_NAME = /TOKEN|SECRET|PASSWORD|PASSWD|JWT|CREDENTIAL|API_?KEY|PRIVATE_?KEY|DATABASE_URL|WEBHOOK/i;

export function environmentOf(variables: Readonly<Record<string, string | undefined>>): Environment {
  return {
    variable: (name) => (Object.hasOwn(variables, name) && variables[name] !== '' ? variables[name] : undefined),
    secrets: () =>
      Object.entries(variables).flatMap(([name, value]) =>
        SECRET_NAME.test(name) && value !== undefined && value !== '' ? [value] : [],
      ),
  };
}

/** The environment of this process. */
export const environment: Environment = environmentOf(process.env);
