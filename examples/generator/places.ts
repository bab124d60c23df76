/** Counties where household solar stands; tariffs are the provinces' coal benchmark prices in 1/10000 CNY per kWh. */
export interface County {
  /** The administrative division code. */
  readonly code: string;
  readonly name: string;
  readonly towns: readonly string[];
  readonly tariff: number;
}

export const SHANDONG_HEBEI: readonly County[] = [
  { code: '371425', name: '齐河县', towns: ['晏城', '华店', '祝阿', '焦庙'], tariff: 3949 },
  { code: '371522', name: '莘县', towns: ['张寨', '古云', '朝城'], tariff: 3949 },
  { code: '371721', name: '曹县', towns: ['庄寨', '青堌集', '普连集'], tariff: 3949 },
  { code: '130529', name: '巨鹿县', towns: ['官亭', '西郭城', '阎疃'], tariff: 3644 },
  { code: '131126', name: '故城县', towns: ['郑口', '夏庄', '武官寨'], tariff: 3644 },
];

export const HENAN_ANHUI: readonly County[] = [
  { code: '411621', name: '扶沟县', towns: ['崔桥', '白潭', '韭园'], tariff: 3779 },
  { code: '411425', name: '虞城县', towns: ['利民', '界沟', '杜集'], tariff: 3779 },
  { code: '341222', name: '太和县', towns: ['税镇', '坟台', '三堂'], tariff: 3844 },
  { code: '341621', name: '涡阳县', towns: ['高炉', '义门', '西阳'], tariff: 3844 },
];

export const JIANGSU: readonly County[] = [
  { code: '321324', name: '泗洪县', towns: ['双沟', '界集', '上塘'], tariff: 3910 },
  { code: '320324', name: '睢宁县', towns: ['李集', '王集', '官山'], tariff: 3910 },
];

const SURNAMES = [...'王李张刘陈杨赵黄周吴徐孙胡朱高林何郭马罗梁宋郑谢韩唐冯于董萧程曹袁邓许傅沈曾彭吕'];
const GIVEN_NAMES = [
  ...['建国', '桂英', '秀兰', '玉珍', '志强', '春梅', '保田', '长河', '凤霞', '守义', '庆丰', '兰芝', '永福'],
  ...['秀荣', '德胜', '爱莲', '金锁', '红梅', '国栋', '玉芬', '洪亮', '素珍', '立新', '翠花', '文斌', '美玲'],
];

/** A household's name; like everybody here, nobody in particular. */
export function householdName(random: { pick<T>(list: readonly T[]): T }): string {
  return random.pick(SURNAMES) + random.pick(GIVEN_NAMES);
}
