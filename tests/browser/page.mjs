// The page as a person uses it.
export const say = async (page, text) => {
  await page.getByRole('textbox', { name: 'Message', exact: true }).fill(text);
  await page.keyboard.press('Enter');
};

// An answer that stands in the history: nothing is being written any more.
export const answered = async (page, text) => {
  await page.locator('.answer:not(.live)', { hasText: text }).last().waitFor();
  await page.locator('.answer.live').waitFor({ state: 'detached' });
};

export const live = (page, text) => page.locator('.answer.live', { hasText: text }).waitFor();

export const answers = (page) => page.locator('.answer .prose').allInnerTexts();
export const questions = (page) => page.locator('.said .bubble').allInnerTexts();

export const open = async (page, base, path = '/') => {
  await page.goto(base + path);
  await page.getByRole('textbox', { name: 'Message', exact: true }).waitFor();
};
