// Names of models, as the configuration and as providers say them.

// Providers answer with the day of the version that stands behind a name: gpt-4o-2024-08-06.
const undated = (name: string): string => name.toLowerCase().replace(/-(latest|\d{8}|\d{4}-\d{2}-\d{2})$/, '');

export const sameModel = (one: string, other: string): boolean => undated(one) === undated(other);
