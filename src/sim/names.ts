/** A display name and its English form. */
export interface InventedName {
  readonly name: string;
  readonly nameEn: string;
}

const FIRST = table(
  "嵘Rong 泓Hong 旭Xu 垚Yao 骏Jun 翊Yi 瀚Han 珩Heng 澜Lan 锦Jin 鸿Hong 岳Yue 霖Lin 朔Shuo 璟Jing 昀Yun 启Qi 卓Zhuo 晟Sheng 颐Yi 澄Cheng 衡Heng 竣Jun 溪Xi 峻Jun 禾He 榕Rong 沐Mu 砺Li 曜Yao 恺Kai 湛Zhan 祺Qi 煦Xu 韬Tao 铭Ming 渊Yuan 柏Bai 皓Hao 宸Chen",
);
const SECOND = table(
  "远yuan 川chuan 丰feng 和he 盛sheng 桥qiao 原yuan 林lin 森sen 海hai 峰feng 泽ze 田tian 洲zhou 域yu 石shi 辰chen 阳yang 达da 驰chi 润run 嘉jia 通tong 诚cheng 瑞rui 越yue 帆fan 昌chang 成cheng 明ming 联lian 创chuang 信xin 拓tuo 安an 源yuan 河he 立li 邦bang 景jing",
);
const TRADE = table(
  "科技Technology 股份Holdings 医药Pharma 电子Electronics 能源Energy 材料Materials 化工Chemical 机械Machinery 食品Foods 物流Logistics 环保Environment 软件Software 光电Optoelectronics 精工Precision 新材Advanced-Materials 生物Biotech 电气Electric 汽配Auto-Parts 纺织Textile 建设Construction 传媒Media 矿业Mining 农业Agriculture 水务Water 航空Aviation 智能Intelligence 数据Data 钢铁Steel 银行Bank 证券Securities 保险Insurance 地产Properties 百货Retail 港口Ports 重工Heavy-Industry 家居Home 造纸Paper 玻璃Glass 酒业Spirits 乳业Dairy",
);
const FUND_HOUSES = table(
  "衡远Hengyuan 澜石Lanshi 启林Qilin 朔方Shuofang 瀚川Hanchuan 柏景Baijing 沐禾Muhe 岳成Yuecheng 晟原Shengyuan 霖泽Linze 骏帆Junfan 砺信Lixin",
);
const FUND_THEMES = table(
  "半导体Semiconductor 新能源New-Energy 医疗Healthcare 消费Consumer 银行Bank 证券Brokers 军工Defense 有色Metals 煤炭Coal 农业Agriculture 红利Dividend 价值Value 成长Growth 质量Quality 低波Low-Volatility 中盘Mid-Cap 小盘Small-Cap 大盘Large-Cap 创新Innovation 央企State-Owned 港股通Southbound 科技Technology 软件Software 通信Telecom 家电Appliances 建材Building 电力Power 环保Environment 黄金Gold 国债Treasury",
);
const US_STEMS =
  "Alder Brant Calder Dorn Ember Farrow Garnet Halden Ister Jarrow Kestrel Lorimer Marlow Norwick Orrin Pellam Quarry Rowan Selby Thorn Ulster Varley Wexham Yarrow Zephyr Corvin Drayle Elmsworth Fenwick Grantham".split(
    " ",
  );
const US_ENDS = "wick field gate ridge stone well mark ford haven crest bridge point lane moor ley".split(
  " ",
);
const US_TRADES =
  "Systems Therapeutics Energy Software Industries Semiconductor Bancorp Networks Foods Materials Logistics Robotics Realty Devices Holdings Media Outfitters Insurance Airlines Utilities".split(
    " ",
  );

/** A prime: names of consecutive numbers differ in every part. */
const STRIDE = 7919;

/** Stock name number `index`. There are 64,000 different names of four characters; after that they repeat. */
export function chineseName(index: number): InventedName {
  const [first, firstEn] = pick(FIRST, index * STRIDE);
  const [second, secondEn] = pick(SECOND, (index * STRIDE) / FIRST.length);
  const [trade, tradeEn] = pick(TRADE, (index * STRIDE) / (FIRST.length * SECOND.length));
  return { name: first + second + trade, nameEn: `${firstEn}${secondEn} ${tradeEn}` };
}

/** ETF name number `index`. From the 361st on, names contain a number. */
export function fundName(index: number): InventedName {
  const [house, houseEn] = pick(FUND_HOUSES, index);
  const [theme, themeEn] = pick(FUND_THEMES, index / FUND_HOUSES.length);
  const round = Math.floor(index / (FUND_HOUSES.length * FUND_THEMES.length)) + 1;
  const number = round > 1 ? String(round) : "";
  return {
    name: `${house}${theme}ETF${number}`,
    nameEn: `${houseEn} ${themeEn} ETF${number && ` ${number}`}`,
  };
}

/** American company name number `index`. There are 9,000 different names. */
export function americanName(index: number): InventedName {
  const step = index * STRIDE;
  const stem = US_STEMS[step % US_STEMS.length] as string;
  const end = US_ENDS[Math.floor(step / US_STEMS.length) % US_ENDS.length] as string;
  const trade = US_TRADES[Math.floor(step / (US_STEMS.length * US_ENDS.length)) % US_TRADES.length] as string;
  const name = `${stem}${end} ${trade} Inc.`;
  return { name, nameEn: name };
}

function table(text: string): readonly (readonly [string, string])[] {
  return text.split(" ").map((word): readonly [string, string] => {
    const split = word.search(/[A-Za-z]/);
    return [word.slice(0, split), word.slice(split).replaceAll("-", " ")];
  });
}

function pick(words: readonly (readonly [string, string])[], step: number): readonly [string, string] {
  return words[Math.floor(step) % words.length] as readonly [string, string];
}
